import type { Command, Flags } from '../command.ts';
import { cluster, namespace, noHeaders, output } from './flags.ts';

const group: Flags = {
  '--group <group>': { doc: 'Group of the user. `system:authenticated` is added.', repeatable: true },
};

const subresource: Flags = {
  '--subresource <name>': 'Subresource of TYPE, e.g. `token`. As in kubectl, what follows the slash of TYPE is a name.',
};

const action = (verb: string, type: string) => [
  { name: verb, doc: '`get`, `list`, `create`...' },
  { name: type, doc: 'Resource, `TYPE/NAME`, or a path that starts with `/`.' },
  { name: '[NAME]', doc: 'Name of an object.' },
];

/** Commands about permissions: one's own, and those of others. */
export const ACCESS_COMMANDS: readonly Command[] = [
  {
    path: ['auth', 'can-i'],
    summary: 'Check whether an action is allowed.',
    details:
      'Prints `yes` and exits with 0, or prints `no` and exits with 1. `clusterpass kubectl auth can-i --list` lists all.',
    arguments: action('<VERB>', '<TYPE>'),
    flags: {
      ...subresource,
      ...namespace({ default: 'default' }),
      '-A, --all-namespaces': 'Check the action in all namespaces.',
      ...cluster('Check in this cluster. Required for objects inside clusters.'),
      '--as <user>': 'Check for this user, whom you must be allowed to impersonate.',
      '-q, --quiet': 'Suppress output and only return the exit code.',
    },
    examples: [
      'clusterpass auth can-i get clusters prod-eu-1',
      'clusterpass auth can-i create serviceaccounts/builder --subresource token -n ci --cluster prod-eu-1',
    ],
  },
  {
    path: ['auth', 'why'],
    summary: 'Explain why an action is allowed or not.',
    details:
      'Prints `yes` with the binding and the role that allow it, or `no` with a role and a binding that would, ' +
      'as YAML to review and apply. Exits with 0 or 1. Questions about others need `create` on ' +
      '`subjectaccessreviews`.',
    arguments: action('<VERB>', '<TYPE>'),
    flags: {
      '--user <name>': 'Another user. Defaults to yourself.',
      ...group,
      ...subresource,
      ...namespace({ default: 'default' }),
      '-A, --all-namespaces': 'Ask about all namespaces.',
      ...cluster('Ask about this cluster. Required for objects inside clusters.'),
    },
    examples: [
      'clusterpass auth why get clusters prod-eu-1',
      'clusterpass auth why create serviceaccounts/builder --subresource token -n ci --cluster prod-eu-1 --user carl',
    ],
  },
  {
    path: ['auth', 'reach'],
    summary: 'List what a user reaches in each cluster.',
    details:
      'With the bindings behind it, as far as you may see them. Only groups that you name count. A service account ' +
      'is `system:cluster:CLUSTER:serviceaccount:NAMESPACE:NAME`. Needs `create` on `subjectreachreviews` ' +
      '(`clusterpass.dev`).',
    arguments: [{ name: '<USER>', doc: 'Name of the user.' }],
    flags: { ...group, ...cluster('Only this cluster.'), ...noHeaders, ...output('json', 'yaml') },
    examples: ['clusterpass auth reach carl', 'clusterpass auth reach carl --group team-shop --cluster prod-eu-1'],
  },
  {
    path: ['auth', 'who-can'],
    summary: 'List the users, groups and service accounts that may do something.',
    details:
      'With the binding and the role behind each, of the bindings that you may read. Without VERB and TYPE: everyone ' +
      'who reaches the cluster, and what, or with `--account` who gets passes of that account. Needs `create` on ' +
      '`resourceaccessreviews` (`clusterpass.dev`), everywhere or in the cluster.',
    arguments: action('[VERB]', '[TYPE]'),
    flags: {
      ...subresource,
      ...namespace({ default: 'default' }),
      '-A, --all-namespaces': 'Who may do it in all namespaces.',
      ...cluster('Ask about this cluster. Required for objects inside clusters.'),
      '--account <namespace/name>': 'Service account of the cluster, in place of VERB and TYPE.',
      ...noHeaders,
      ...output('json', 'yaml'),
    },
    examples: [
      'clusterpass auth who-can create serviceaccounts --subresource token -n ci --cluster prod-eu-1',
      'clusterpass auth who-can --cluster prod-eu-1',
      'clusterpass auth who-can --cluster prod-eu-1 --account ci/builder',
    ],
  },
  {
    path: ['grant'],
    summary: 'Grant a role in some clusters, by a FleetRoleBinding.',
    details:
      'Prints who would gain what and where, after a dry run at the server; `--apply` then writes the binding, and ' +
      '`--output` prints it. Its name follows from the subject, the role and where it holds: granting the same again ' +
      'changes that binding, e.g. when it ends. Needs the permission to `create` and `patch` `fleetrolebindings` ' +
      '(API group `clusterpass.dev`), and what is granted.',
    arguments: [{ name: '[USER]', doc: 'The user. In its place: `--group`.' }],
    flags: {
      '--group <group>': 'A group.',
      '--role <role>': 'Name of a ClusterRole, or `Role/NAME` for the Role in `--namespace`. Required.',
      ...cluster('The only cluster in which it holds.', { conflicts: ['--selector'] }),
      '-l, --selector <selector>': 'It holds in the clusters with these labels, now and later.',
      '-n, --namespace <namespace>': 'The only namespace in which it holds. If unset, all of them.',
      '--for <duration>': 'It ends after this time, e.g. `8h`. If unset, never.',
      '--agents': 'Agents of the subject get passes through it, too.',
      '--apply': 'Write the binding.',
      ...output('json', 'yaml'),
    },
    examples: [
      'clusterpass grant jane --role clusterpass:viewer -l env=dev',
      'clusterpass grant --group team-shop --role clusterpass:token-creator -n shop --cluster prod-eu-1 --for 8h',
      'clusterpass grant jane --role clusterpass:token-creator -n shop -l env=dev -o yaml',
    ],
  },
];

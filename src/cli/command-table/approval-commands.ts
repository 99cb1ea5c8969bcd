import type { Command } from '../command.ts';
import { audience, cluster, dryRun, namespace, noHeaders, output } from './flags.ts';

const name = [{ name: '<NAME...>', doc: 'Names of requests.' }];
const handle = [{ name: '<HANDLE...>', doc: 'Handles, the names of passes.' }];
const message = (doc: string) => ({ '-m, --message <text>': doc });

/** Requests for access, and passes as handles: to ask for them, and to decide those of others. */
export const APPROVAL_COMMANDS: readonly Command[] = [
  {
    path: ['request', 'create'],
    summary: 'Ask for access to a cluster, for some time.',
    details:
      'To see the cluster; with `--account` also for passes of a service account, with `--as-me` for passes for ' +
      'yourself. With VERB and TYPE only for that permission of Clusterpass about the cluster (none in the cluster ' +
      'itself). Prints the name of the request. Needs `create` on `accessrequests` (`clusterpass.dev`).',
    arguments: [
      { name: '[VERB]', doc: '`get`, `list`, `create`...' },
      { name: '[TYPE]', doc: 'Resource, or `TYPE/NAME`.' },
      { name: '[NAME]', doc: 'Name of an object.' },
    ],
    flags: {
      ...cluster('The cluster. Required.', {}),
      '--account <namespace/name>': 'Service account whose passes are requested.',
      '--as-me': { doc: 'Ask for passes for yourself.', conflicts: ['--account'] },
      '--reason <text>': 'Why the access is needed. Approvers read it. Required.',
      '--duration <duration>': 'How long the access lasts after the approval. Defaults to an hour.',
      '--subresource <name>': 'Subresource of TYPE.',
      ...namespace({ default: 'default' }),
      '-A, --all-namespaces': 'Ask for VERB in all namespaces.',
      '--wait': 'Wait for the decision, and print what to do next. Exit code 1 if it is not approved.',
      ...dryRun,
      ...output('json', 'yaml', 'name'),
    },
    notRun: 'example names',
    examples: [
      "clusterpass request create --cluster prod-eu-1 --account ci/builder --reason 'INC-4711: hangs' --duration 2h",
      "clusterpass request create --cluster prod-eu-1 --reason 'I am on call this week'",
      "clusterpass request create list serviceaccounts -n ci --cluster prod-eu-1 --reason 'INC-4711'",
    ],
  },
  {
    path: ['request', 'list'],
    summary: 'List your requests, and those that you may approve.',
    details: 'With the permission to `list` `accessrequests`, all of them.',
    flags: {
      ...cluster('Only requests about this cluster.'),
      '--phase <Pending|Approved|Denied|Withdrawn|Expired>': 'Only requests of this phase.',
      '--requester <user>': 'Only requests of this user.',
      ...noHeaders,
      ...output('wide', 'json', 'yaml', 'name'),
    },
    examples: ['clusterpass request list', 'clusterpass request list --phase Pending --cluster prod-eu-1 -o wide'],
  },
  {
    path: ['request', 'show'],
    summary: 'Show requests: what they are for, why, and what was decided.',
    details: 'Finished requests are kept for `--access-request-retention` of the server.',
    arguments: name,
    flags: { ...output('json', 'yaml') },
    notRun: 'example names',
    examples: ['clusterpass request show jane-x7k2p'],
  },
  {
    path: ['request', 'approve'],
    summary: 'Approve requests of others.',
    details:
      'The requester, who must be another person, has the access at once, until the time that the command ' +
      'prints. Needs `approve` on `accessrequests` in the cluster, and the permission that is granted.',
    arguments: name,
    flags: {
      ...message('A message to the requester.'),
      '--uid <uid>': 'Approve only the request with this UID (`request show`), not a later one of its name.',
      ...dryRun,
    },
    notRun: 'example names',
    examples: [
      'clusterpass request approve jane-x7k2p',
      "clusterpass request approve jane-x7k2p -m 'until the fix is out'",
    ],
  },
  {
    path: ['request', 'deny'],
    summary: 'Deny requests of others.',
    arguments: name,
    flags: { ...message('Why.'), ...dryRun },
    notRun: 'example names',
    examples: ["clusterpass request deny jane-x7k2p -m 'ask for the staging cluster'"],
  },
  {
    path: ['request', 'withdraw'],
    summary: 'Withdraw requests, and end the access of approved ones.',
    details:
      'Your own, or those that you may approve. Passes under it that have a record are revoked; others stay ' +
      'valid until they expire.',
    arguments: name,
    flags: { ...message('Why.'), ...dryRun },
    notRun: 'example names',
    examples: ['clusterpass request withdraw jane-x7k2p'],
  },
  {
    path: ['pass', 'request'],
    summary: 'Ask for a pass of a service account, for a purpose and some minutes.',
    details:
      'Prints the handle of the pass, and writes a kubeconfig that redeems it: no token is stored before ' +
      'kubectl needs it. Needs `create` on `serviceaccounts/token` in the cluster; the binding that gives it ' +
      'decides whether an approval is needed. No token outlives the pass.',
    flags: {
      ...cluster('The cluster. Required.', {}),
      '--account <namespace/name>': 'Service account. Required.',
      '--purpose <text>': 'What for, in one line. Approvers and the audit log have it. Required.',
      '--duration <duration>': 'How long the pass can be used: 10m to 15m. Defaults to 10m.',
      ...audience(),
      '--any-machine': 'The pass can be redeemed with your credential on every machine. Otherwise only on this one.',
      ...output('json', 'yaml', 'name'),
    },
    notRun: 'example names',
    examples: ["clusterpass pass request --cluster prod-eu-1 --account ci/builder --purpose 'INC-4711: read the logs'"],
  },
  {
    path: ['pass', 'list'],
    summary: 'List your passes, and those that you may review.',
    details:
      'With the permission to `list` `passes`, all of them. Expired passes are listed for an hour, denied ones for a day. ' +
      '`-o wide` has the message of a denial.',
    flags: {
      ...cluster('Only passes of this cluster.'),
      '--phase <Pending|Ready|Denied|Ended>': 'Only passes of this phase.',
      '--requester <user>': 'Only passes of this user.',
      ...noHeaders,
      ...output('wide', 'json', 'yaml', 'name'),
    },
    examples: ['clusterpass pass list', 'clusterpass pass list --phase Pending -o wide'],
  },
  {
    path: ['pass', 'show'],
    summary: 'Show passes: what they are for, what was decided, and the ids of their tokens.',
    details: 'As long as `pass list` has them, and not if they were revoked; the audit log has those.',
    arguments: handle,
    flags: { ...output('json', 'yaml') },
    notRun: 'example names',
    examples: ['clusterpass pass show pass_4e6xk2vqz7h3m5tcoywn2r4jdaglbuep'],
  },
  {
    path: ['pass', 'approve'],
    summary: 'Approve passes.',
    details: 'A `review` needs another person, who may `approve` `passes` in the cluster; a `confirm` the requester.',
    arguments: handle,
    flags: { ...message('A message to the requester.'), ...dryRun },
    notRun: 'example names',
    examples: ['clusterpass pass approve pass_4e6xk2vqz7h3m5tcoywn2r4jdaglbuep'],
  },
  {
    path: ['pass', 'deny'],
    summary: 'Deny passes.',
    arguments: handle,
    flags: { ...message('A message to the requester.'), ...dryRun },
    notRun: 'example names',
    examples: ["clusterpass pass deny pass_4e6xk2vqz7h3m5tcoywn2r4jdaglbuep -m 'use the staging cluster'"],
  },
  {
    path: ['pass', 'revoke'],
    summary: 'End passes, and revoke the tokens that were issued for them.',
    details:
      'Your own; with the permission to `delete` `passes`, all of them. Kubeconfig and cached tokens of a pass ' +
      'on this machine are deleted.',
    arguments: handle,
    notRun: 'example names',
    examples: ['clusterpass pass revoke pass_4e6xk2vqz7h3m5tcoywn2r4jdaglbuep'],
  },
];

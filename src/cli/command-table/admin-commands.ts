import type { Command } from '../command.ts';
import { cluster, dryRun, dryRunWhere, files, namespace, output } from './flags.ts';

/** To run the fleet: its objects, its rules, whom it trusts, and its keys. */
export const OPERATE_COMMANDS: readonly Command[] = [
  {
    path: ['apply'],
    summary: 'Create objects, or change them to what files say.',
    details:
      'An object that does not exist is created; of one that does, the fields in the file are set (a merge patch). A ' +
      'field that was taken out of the file stays in the object: set it to `null`, or use `kubectl apply`, which ' +
      'remembers. Objects that live inside a cluster name it in the annotation `clusterpass.dev/cluster`, or take ' +
      '`--cluster`.',
    flags: [
      files,
      cluster('For objects that live inside a cluster and name none.'),
      namespace,
      dryRunWhere,
      output('`json`, `yaml`, `name`, `jsonpath=TEMPLATE`'),
    ],
    examples: [
      'clusterpass apply -f cluster.yaml',
      'clusterpass apply -f fleet/ --dry-run=server',
      'clusterpass apply -f cluster.yaml -o name',
    ],
    load: () => import('../commands/apply.ts'),
  },
  {
    path: ['delete'],
    summary: 'Delete objects, by name, by label or by file.',
    arguments: [
      { name: '[TYPE]', doc: 'E.g. `cluster`, `serviceaccount`; or `TYPE/NAME`.' },
      { name: '[NAME...]', doc: 'The objects.' },
    ],
    flags: [
      files,
      cluster('For objects that live inside a cluster.'),
      namespace,
      { flags: '-l, --selector <selector>', doc: 'Those of TYPE whose labels match.' },
      { flags: '--all', doc: 'All of TYPE.' },
      { flags: '-A, --all-namespaces', doc: 'With `-l` or `--all`: in every namespace.' },
      { flags: '--ignore-not-found', doc: 'What does not exist counts as deleted.' },
      dryRunWhere,
      output('`name`'),
    ],
    examples: [
      'clusterpass delete cluster dev-eu-1',
      'clusterpass delete serviceaccount builder -n ci --cluster prod-eu-1',
      'clusterpass delete -f cluster.yaml',
      'clusterpass delete clusters -l env=dev --dry-run=client',
    ],
    load: () => import('../commands/delete.ts'),
  },
  {
    path: ['auth', 'can-i'],
    summary: 'Ask whether something is allowed.',
    details: 'Says `yes` or `no` and ends with 0 or 1. `--list` shows everything that is allowed in a namespace.',
    arguments: [
      { name: '[VERB]', doc: '`get`, `list`, `create`...' },
      { name: '[TYPE]', doc: 'A resource, `TYPE/NAME`, or a path that starts with `/`.' },
      { name: '[NAME]', doc: 'One object.' },
    ],
    flags: [
      { flags: '--subresource <name>', doc: 'E.g. `token`.' },
      { ...namespace, default: 'default' },
      { flags: '-A, --all-namespaces', doc: 'In every namespace.' },
      cluster('In this cluster; without it, at the fleet.'),
      { flags: '--list', doc: 'Everything that is allowed.' },
      { flags: '-q, --quiet', doc: 'Only the exit code.' },
      { flags: '--no-headers', doc: 'Leave out the line of headers.' },
    ],
    examples: [
      'clusterpass auth can-i get clusters prod-eu-1',
      'clusterpass auth can-i create serviceaccounts/builder --subresource token -n ci --cluster prod-eu-1',
      'clusterpass auth can-i --list -n ci --cluster prod-eu-1',
    ],
    load: () => import('../commands/can-i.ts'),
  },
  {
    path: ['register'],
    summary: 'Add a cluster from a kubeconfig.',
    details:
      'Reads address and CA of a context, asks the cluster for its version and its identity (the UID of the namespace ' +
      '`kube-system`, kept in the annotation `clusterpass.dev/cluster-id`), and creates the cluster. Without ' +
      'permission to read the identity, the cluster is created without it. The credentials in the kubeconfig are ' +
      'used for these two questions only, if at all, and are not sent to Clusterpass.',
    arguments: [{ name: '<NAME>', doc: 'What it is to be called.' }],
    flags: [
      { flags: '--kubeconfig <file>', doc: 'The file; by default the first of `$KUBECONFIG`.' },
      { flags: '--context <context>', doc: 'The context in it; by default the current one.' },
      { flags: '--label <key=value>', doc: 'A label for it.', repeatable: true },
      {
        flags: '--client-cidr <network>',
        doc: 'Clients in this network use the address; without one, all clients do.',
        repeatable: true,
      },
      { flags: '--offline', doc: 'Do not connect to it.' },
      dryRun,
    ],
    examples: ['clusterpass register dev-eu-3 --kubeconfig ./dev.yaml --context admin@dev --label env=dev'],
    load: () => import('../commands/register.ts'),
  },
  {
    path: ['trust'],
    summary: 'Write what makes the API server of a cluster accept tokens that are issued here.',
    details:
      'An `AuthenticationConfiguration` for `--authentication-config` of kube-apiserver. A token then stands for the service ' +
      'account that it names, with its groups and its UID. The authority in it is the one of `--certificate-authority` or ' +
      'of the login; without one, the root of what the issuer shows, if this machine trusts it and it is not a public one.',
    arguments: [{ name: '<CLUSTER>', doc: 'The cluster.' }],
    examples: ['clusterpass trust prod-eu-1 > authentication.yaml'],
    load: () => import('../commands/trust.ts'),
  },
  {
    path: ['confirm'],
    summary: "Confirm where a cluster's credential is sent.",
    details:
      'A cluster whose `spec.authInfo.controller` names a credential is asked for its tokens with that credential, once ' +
      'somebody who may `confirm` clusters has confirmed its addresses and its CA. A change of any of them needs a new ' +
      'confirmation. The command shows what is confirmed: look at it, above all after a change that you did not make.',
    arguments: [{ name: '<CLUSTER>', doc: 'The cluster.' }],
    flags: [
      {
        flags: '--print',
        doc: 'Print the value for the annotation `clusterpass.dev/confirmed-endpoint`, and change nothing.',
      },
      dryRun,
    ],
    examples: ['clusterpass confirm prod-eu-1', 'clusterpass confirm prod-eu-1 --print'],
    load: () => import('../commands/confirm.ts'),
  },
  {
    path: ['keys', 'list'],
    summary: 'Show the keys that sign tokens, or did, or will.',
    details: 'Only what is public: the private half of a key never leaves the server.',
    flags: [output('`json`, `yaml`, `name`, `jsonpath=TEMPLATE`')],
    examples: ['clusterpass keys list'],
    load: () => import('../commands/keys-list.ts'),
  },
  {
    path: ['keys', 'rotate'],
    summary: 'Let the next key sign.',
    details:
      'It signs as soon as every verifier can know it: 70 minutes after it was first published, which is often long ago. ' +
      'Tokens of the key before stay valid.',
    flags: [
      {
        flags: '--force',
        doc: 'At once, even if verifiers may not know the key yet and refuse its tokens for up to an hour.',
      },
      dryRun,
    ],
    examples: ['clusterpass keys rotate', 'clusterpass keys rotate --dry-run server'],
    load: () => import('../commands/keys-rotate.ts'),
  },
  {
    path: ['keys', 'revoke'],
    summary: 'Revoke a key, and with it every token that it signed.',
    details:
      'Its tokens are refused here at once, and it is no longer published. If it was the key that signs, the next one takes ' +
      'its place.',
    arguments: [{ name: '<KEY>', doc: 'The id of the key.' }],
    flags: [dryRun],
    examples: ['clusterpass keys revoke RkEm2pTSmmwLLLhIExcVnKNnyQGyZWRr9wHQyvDF0hc'],
    load: () => import('../commands/keys-revoke.ts'),
  },
];

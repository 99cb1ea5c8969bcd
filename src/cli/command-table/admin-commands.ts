import type { Command } from '../command.ts';
import { dryRun, output } from './flags.ts';

/** Commands that manage a fleet: registration, trust and signing keys. */
export const ADMIN_COMMANDS: readonly Command[] = [
  {
    path: ['register'],
    summary: 'Register a cluster from a kubeconfig, or change its address and CA.',
    details:
      'Reads address and CA of a context, and from the cluster its version and identity (the UID of `kube-system`, as ' +
      'the annotation `clusterpass.dev/cluster-id`), if it can be read. The credentials in the kubeconfig are not sent ' +
      'to Clusterpass. Then prints what is left to do until the cluster can be used.',
    arguments: [{ name: '<NAME>', doc: 'Name of the cluster.', isCluster: true }],
    flags: {
      '--kubeconfig <file>':
        'Kubeconfig to read. Defaults to the first file of `$KUBECONFIG`, else to `~/.kube/config`.',
      '--context <context>': 'Context to read. Defaults to the current context.',
      '--update': {
        doc: 'Give a registered cluster the address and the CA of the kubeconfig. Prints the change, after a dry run at the server.',
        conflicts: ['--label'],
      },
      '--label <key=value>': { doc: 'Label of the new cluster.', repeatable: true, field: /metadata\.labels/ },
      '--client-cidr <network>': {
        doc: 'Network whose clients use this address. Defaults to all networks.',
        repeatable: true,
        field: /spec\.\w+\.serverEndpoints\[\d+\]\.clientCIDR/,
      },
      '--offline': 'Do not connect to the cluster.',
      ...dryRun,
    },
    examples: [
      'clusterpass register dev-eu-3 --kubeconfig ./dev.yaml --context admin@dev --label env=dev',
      'clusterpass register dev-eu-3 --kubeconfig ./dev.yaml --update --dry-run server',
    ],
  },
  {
    path: ['trust'],
    summary: 'Write the authentication configuration with which a cluster accepts passes.',
    details:
      'Writes an `AuthenticationConfiguration` for the flag `--authentication-config` of kube-apiserver. The ' +
      'CA in it is that of `--certificate-authority` or of the login, else the root that the issuer presents, ' +
      'if this machine trusts it and it is not a public CA. [trust.md](trust.md#signing-keys) says when to use ' +
      '`--refresh`, and [what `--webhook` changes](trust.md#revocation-that-reaches-clusters). Names and groups of ' +
      'people have the prefix of `--people-prefix` of the server.',
    arguments: [{ name: '[CLUSTER]', doc: 'Name of the cluster. Optional with `--refresh --file`.', isCluster: true }],
    flags: {
      '--refresh': 'Make an API server read the keys again, instead of writing the configuration.',
      '--file <file>': 'With `--refresh`: the file of `--authentication-config` to change.',
      '--people': 'Accept passes for people as well.',
      '--allow-namespace <namespace>': {
        doc: 'Accept passes for the accounts in `kube-system`, which the configuration refuses otherwise.',
        repeatable: true,
      },
      '--webhook <folder>': 'Write the files of an authentication webhook to this folder.',
    },
    examples: [
      'clusterpass trust prod-eu-1 > authentication.yaml',
      'clusterpass trust prod-eu-1 --people > authentication.yaml',
      'clusterpass trust --refresh --file /etc/kubernetes/authentication.yaml',
      'clusterpass trust prod-eu-1 --refresh',
      'clusterpass trust prod-eu-1 --webhook prod-eu-1-webhook',
    ],
  },
  {
    path: ['confirm'],
    summary: 'Confirm the addresses and the CA of a cluster.',
    details:
      'Needs the verb `confirm` on clusters. Check what the command prints: kubeconfigs of all users follow it. To ' +
      'withdraw a change, write the previous endpoints ([trust.md](trust.md#confirm-a-changed-address-or-ca)).',
    arguments: [{ name: '<CLUSTER>', doc: 'Name of the cluster.', isCluster: true }],
    flags: {
      '--print': 'Print the value of the annotation `clusterpass.dev/confirmed-endpoint` without changing the cluster.',
      ...dryRun,
    },
    examples: ['clusterpass confirm prod-eu-1', 'clusterpass confirm prod-eu-1 --print'],
  },
  {
    path: ['keys', 'list'],
    summary: 'List the signing keys.',
    flags: { ...output('json', 'yaml', 'name') },
    examples: ['clusterpass keys list'],
  },
  {
    path: ['keys', 'rotate'],
    summary: 'Start signing with the next key.',
    details:
      'The next key signs once relying parties can have read it: 70 minutes after it was first published. Tokens ' +
      'of the previous key stay valid.',
    flags: {
      '--algorithm <ALGORITHM>': {
        doc: 'Algorithm whose keys are rotated, if the server has several (`--signing-algorithm-for`). Default: its `--signing-algorithm`.',
        field: /spec\.algorithm/,
      },
      '--force':
        'Sign with the next key now. Relying parties that have not read it yet refuse its tokens for up to an hour.',
      ...dryRun,
    },
    examples: ['clusterpass keys rotate', 'clusterpass keys rotate --dry-run server'],
  },
  {
    path: ['keys', 'revoke'],
    summary: 'Revoke a signing key and all tokens signed with it.',
    details:
      'The server refuses tokens of the key at once; the next key takes the place of the current one. Clusters ' +
      'accept the tokens until they [read the keys again](trust.md#signing-keys).',
    arguments: [{ name: '<KEY>', doc: 'ID of the key.' }],
    flags: { ...dryRun },
    examples: ['clusterpass keys revoke RkEm2pTSmmwLLLhIExcVnKNnyQGyZWRr9wHQyvDF0hc'],
  },
];

import type { Command } from '../command.ts';
import { cluster, dryRun, kubeconfigFlags, loopFlags } from './flags.ts';

/** Commands by which a cluster registers and describes itself. */
export const JOIN_COMMANDS: readonly Command[] = [
  {
    path: ['create', 'bootstrap-token'],
    summary: 'Create a token with which one new cluster registers itself.',
    details:
      'Writes only the token to stdout. It works once, with `clusterpass join`, and with the permissions that ' +
      'you have then ([inventory.md](inventory.md#let-a-cluster-register-itself)). Needs `create` on ' +
      '`bootstraptokens` and `clusters`, and what the labels require.',
    arguments: [
      { name: '[NAME]', doc: 'Name of the token, by which it is listed and deleted. Defaults to a random one.' },
    ],
    flags: [
      {
        flags: '--name-pattern <pattern>',
        doc: 'Names that the cluster may have, with `*` for any characters. Required.',
        field: /spec\.namePattern/,
      },
      { flags: '--label <key=value>', doc: 'Label of the cluster.', repeatable: true, field: /spec\.labels/ },
      {
        flags: '--duration <duration>',
        doc: 'How long the token can be used, at most `24h`. Defaults to `1h`.',
        field: /spec\.expirationTimestamp/,
      },
      dryRun,
    ],
    examples: ["clusterpass create bootstrap-token --name-pattern 'dev-*' --label env=dev > join.token"],
  },
  {
    path: ['join'],
    summary: 'Register the cluster in which the command runs, with a bootstrap token.',
    details:
      'Runs in a pod or with a kubeconfig of the cluster. `--token-file` or `CLUSTERPASS_TOKEN` is the ' +
      'bootstrap token. [inventory.md](inventory.md#let-a-cluster-register-itself) says what is sent, and where ' +
      'the address of a pod comes from. Repeated, it changes nothing.',
    arguments: [{ name: '<NAME>', doc: 'Name of the cluster. Must match the pattern of the token.' }],
    flags: [
      ...kubeconfigFlags,
      {
        flags: '--address <URL>',
        doc: 'Address of the API server for clients outside of the cluster. Defaults to that of the kubeconfig.',
        field: /spec\.\w+\.serverEndpoints\[\d+\]\.serverAddress/,
      },
      {
        flags: '--client-cidr <network>',
        doc: 'Network whose clients use this address. Defaults to all networks.',
        repeatable: true,
        field: /spec\.\w+\.serverEndpoints\[\d+\]\.clientCIDR/,
      },
      { flags: '--without-ca', doc: 'Register no CA: the system CAs verify the cluster.' },
      dryRun,
    ],
    notRun: 'they need a cluster',
    examples: [
      'clusterpass join dev-eu-7 --server https://clusterpass.example.com --token-file join.token',
      'clusterpass join dev-eu-7 --token-file join.token --address https://dev-eu-7.example.com:6443',
    ],
  },
  {
    path: ['mirror'],
    summary: 'Copy namespaces, service accounts and Pods of a cluster to Clusterpass.',
    details:
      'Runs in the cluster, or beside it with a kubeconfig, and copies names, UIDs and, of a Pod, its account ' +
      'and node ([inventory.md](inventory.md#accounts-and-pods-of-a-cluster)). If the kubeconfig leads to ' +
      'another cluster than the registered one, nothing is written.',
    flags: [
      cluster('Name of the cluster in Clusterpass. Required.'),
      ...kubeconfigFlags,
      { flags: '--without-pods', doc: 'Leave out Pods: no permission to read them is needed.' },
      ...loopFlags({
        flags: '--dry-run <none|client>',
        doc: 'With `--once`, `client`: print the changes without sending them.',
        default: 'none',
      }),
    ],
    notRun: 'they need a cluster',
    examples: [
      'clusterpass mirror --cluster dev-eu-7 --kubeconfig dev.yaml --once --dry-run client',
      'clusterpass mirror --cluster dev-eu-7 --metrics-listen 0.0.0.0:9090',
    ],
  },
];

import type { Command } from '../command.ts';
import { cluster, dryRun, kubeconfigFlags } from './flags.ts';

/** Commands by which a cluster registers and describes itself. */
export const JOIN_COMMANDS: readonly Command[] = [
  {
    path: ['create', 'bootstrap-token'],
    summary: 'Create a token with which one new cluster registers itself.',
    details:
      'Writes only the token to stdout. It works once, with `clusterpass connector`, and with the permissions that ' +
      'you have then ([inventory.md](inventory.md#let-a-cluster-register-itself)). Needs `create` on ' +
      '`bootstraptokens` and `clusters`, and what the labels require.',
    arguments: [
      { name: '[NAME]', doc: 'Name of the token, by which it is listed and deleted. Defaults to a random one.' },
    ],
    flags: {
      '--name-pattern <pattern>': {
        doc: 'Names that the cluster may have, with `*` for any characters. Required.',
        field: /spec\.namePattern/,
      },
      '--label <key=value>': { doc: 'Label of the cluster.', repeatable: true, field: /spec\.labels/ },
      '--duration <duration>': {
        doc: 'How long the token can be used, at most `24h`. Defaults to `1h`.',
        field: /spec\.expirationTimestamp/,
      },
      ...dryRun,
    },
    examples: ["clusterpass create bootstrap-token --name-pattern 'dev-*' --label env=dev > join.token"],
  },
  {
    path: ['connector'],
    summary: 'Run in a cluster: register it, report about it, and issue the tokens that Clusterpass orders.',
    details:
      'A Helm chart installs it ([connect/managed-clusters.md](connect/managed-clusters.md#the-connector)). ' +
      '`--token-file` is a projected token of its service account, whose one audience is the base URL of ' +
      'Clusterpass, then `/connectors/` and the name of the cluster.',
    flags: {
      ...cluster('Name of the cluster in Clusterpass. Required.'),
      '--config <file>':
        'What the owner of the cluster allows: a ConnectorConfiguration. Followed while it runs. Required.',
      '--bootstrap-token-file <file>':
        'File with the bootstrap token that registers the cluster. Not read once it is registered.',
      '-n, --namespace <namespace>': 'Namespace of the connector. Defaults to that of the Pod.',
      ...kubeconfigFlags,
      '--address <URL>': {
        doc:
          'Address of the API server for clients outside of the cluster. Defaults, in a Pod, to the one that kubeadm ' +
          'publishes, if there is one, else to that of the kubeconfig.',
        field: /spec\.\w+\.serverEndpoints\[\d+\]\.serverAddress/,
      },
      '--client-cidr <network>': {
        doc: 'Network whose clients use this address. Defaults to all networks.',
        repeatable: true,
        field: /spec\.\w+\.serverEndpoints\[\d+\]\.clientCIDR/,
      },
      '--without-ca': 'Register no CA: the system CAs verify the cluster.',
    },
    notRun: 'it needs a cluster',
    examples: [
      'clusterpass connector --cluster dev-eu-7 --config connector.yaml --token-file connector.token ' +
        '--bootstrap-token-file join.token',
    ],
  },
];

import type { Command, Flags } from '../command.ts';
import { cluster, dryRun, kubeconfigFlags, output } from './flags.ts';

const SYNC_FLAGS: Flags = {
  '--prune': 'Delete objects that this command has created and whose source is gone.',
  '--max-delete <number>': {
    doc: 'Delete at most this many objects within `--prune-window`. If more would be deleted, none is.',
    default: '5',
  },
  '--prune-window <duration>': {
    doc: 'Time in which deletions count together. Without `--once`, nothing is deleted for this long after the start.',
    default: '10m',
  },
  '--once': 'Reconcile once and end. The exit code is 1 if anything is not synchronized then.',
  '--dry-run <none|client|server>': {
    doc: '`client`: print the change without sending it. `server`: send the request, but do not persist the change.',
    default: 'none',
  },
  '--metrics-listen <address>': {
    doc: 'Serve `/metrics`, `/livez` and `/readyz` at this address, e.g. `0.0.0.0:9090`.',
    conflicts: ['--once'],
  },
};

export const CONNECTOR: Command = {
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
    '--address <URL>': 'Address of the API server for clients outside of the cluster. Defaults to none.',
  },
  notRun: 'it needs a cluster',
  examples: [
    'clusterpass connector --cluster dev-eu-7 --config connector.yaml --token-file connector.token ' +
      '--bootstrap-token-file join.token',
  ],
};

/** Commands that manage a fleet: registration, trust, signing keys, and what runs in a cluster or beside a hub. */
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
      '--label <key=value>': { doc: 'Label of the new cluster.', repeatable: true },
      '--client-cidr <network>': {
        doc: 'Network whose clients use this address. Defaults to all networks.',
        repeatable: true,
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
      'CA in it is that of `--certificate-authority` or of the login. [trust.md](trust.md#signing-keys) says when to use ' +
      '`--refresh`, and [what `--webhook` changes](trust.md#revocation-that-reaches-clusters). Names and groups of ' +
      'people have the prefix `clusterpass:`.',
    arguments: [{ name: '[CLUSTER]', doc: 'Name of the cluster. Required without `--refresh`.', isCluster: true }],
    flags: {
      '--refresh': 'Make an API server read the keys again, instead of writing the configuration. Needs `--file`.',
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
      '--algorithm <ALGORITHM>':
        'Algorithm whose keys are rotated, if the server has several (`--signing-algorithm-for`). Default: its `--signing-algorithm`.',
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
      '--name-pattern <pattern>': 'Names that the cluster may have, with `*` for any characters. Required.',
      '--label <key=value>': { doc: 'Label of the cluster.', repeatable: true },
      '--duration <duration>': 'How long the token can be used, at most `24h`. Defaults to `1h`.',
      ...dryRun,
    },
    examples: ["clusterpass create bootstrap-token --name-pattern 'dev-*' --label env=dev > join.token"],
  },
  CONNECTOR,
  {
    path: ['sync', 'export'],
    summary: 'Write clusters as ClusterProfiles into a hub, and keep them up to date.',
    details:
      'For controllers that read ClusterProfiles of their own cluster (Kueue, Argo CD). Writes by server-side ' +
      'apply as the field manager `clusterpass`; what others changed in its profiles is changed back ' +
      '([inventory.md](inventory.md#write-profiles-into-a-hub)).',
    flags: {
      ...kubeconfigFlags,
      '-n, --namespace <namespace>': 'Namespace of the profiles. Required.',
      '-l, --selector <selector>': 'Label selector of the clusters.',
      '--manager <name>': {
        doc: 'Name of the cluster manager, different for each Clusterpass of a hub.',
        default: 'clusterpass',
      },
      '--provider <name>': { doc: 'Name of the access provider.', default: 'clusterpass' },
      '--property <label>': { doc: 'Label of clusters that becomes a property.', repeatable: true },
      '--endpoint-for <address>':
        'Choose the endpoint of each cluster as for a client at this IP address. Defaults to the endpoint for every client.',
      ...SYNC_FLAGS,
    },
    notRun: 'they need a hub',
    examples: [
      'clusterpass sync export --kubeconfig hub.yaml --namespace kueue-system -l env=prod --prune',
      'clusterpass sync export --kubeconfig hub.yaml --namespace argocd --once --dry-run client',
    ],
  },
  {
    path: ['sync', 'import'],
    summary: 'Register the clusters of a hub, and keep them up to date.',
    details:
      'Reads Cluster API clusters, ManagedClusters of Open Cluster Management or ClusterProfiles, and applies ' +
      'a Cluster for each ([inventory.md](inventory.md#register-the-clusters-of-a-hub)).',
    flags: {
      '--from <capi|ocm|clusterprofile>': 'What to read in the hub. Required.',
      ...kubeconfigFlags,
      '--hub-name <name>':
        'Name of the hub in the annotation, different for each hub. Defaults to the host of its address. Required in a Pod without `--kubeconfig`.',
      '--hub-namespace <namespace>': 'Namespace to read. Not with `--from ocm`.',
      '-A, --all-namespaces': 'Read all namespaces.',
      '--name <template>': {
        doc: 'Name of a cluster, with `{namespace}` and `{name}` of the object.',
        default: '{name}',
      },
      '--set-label <key=value>': { doc: 'Label of every cluster.', repeatable: true },
      '--copy-label <key>': {
        doc: 'Label that is copied from the object, or a claim of a ManagedCluster. Who may change it there decides who reaches the cluster.',
        repeatable: true,
      },
      '--ready': 'Take health and version from the hub. Without it, the prober finds them.',
      '--without-ca': 'Register no CA: the system CAs verify the clusters.',
      '--access-provider <name>':
        'With `--from clusterprofile`: access provider to read. Defaults to the first with an https address.',
      '--manager <name>': {
        doc: 'With `--from clusterprofile`: leave out profiles of this manager.',
        default: 'clusterpass',
      },
      ...SYNC_FLAGS,
    },
    notRun: 'they need a hub',
    examples: [
      'clusterpass sync import --from capi --kubeconfig hub.yaml -A --name {namespace}-{name} --copy-label env',
      'clusterpass sync import --from ocm --kubeconfig hub.yaml --set-label source=ocm --ready --prune',
      'clusterpass sync import --from clusterprofile --kubeconfig hub.yaml --hub-namespace fleet --once',
    ],
  },
];

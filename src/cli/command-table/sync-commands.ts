import type { Command, Flags } from '../command.ts';
import { kubeconfigFlags } from './flags.ts';

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

/** Commands that keep a hub and the fleet in step. */
export const SYNC_COMMANDS: readonly Command[] = [
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

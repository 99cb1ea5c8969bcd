import type { Command, Flag } from '../command.ts';
import { dryRunWithClient, kubeconfigFlags, loopFlags } from './flags.ts';

const SYNC_FLAGS: readonly Flag[] = [
  { flags: '--prune', doc: 'Delete objects that this command has created and whose source is gone.' },
  {
    flags: '--max-delete <number>',
    doc: 'Delete at most this many objects within `--prune-window`. If more would be deleted, none is.',
    default: '5',
  },
  {
    flags: '--prune-window <duration>',
    doc: 'Time in which deletions count together. Without `--once`, nothing is deleted for this long after the start.',
    default: '10m',
  },
  ...loopFlags(dryRunWithClient),
];

/** Commands that keep a hub and the fleet in step. */
export const SYNC_COMMANDS: readonly Command[] = [
  {
    path: ['sync', 'export'],
    summary: 'Write clusters as ClusterProfiles into a hub, and keep them up to date.',
    details:
      'For controllers that read ClusterProfiles of their own cluster (Kueue, Argo CD). Writes by server-side ' +
      'apply as the field manager `clusterpass`; what others changed in its profiles is changed back ' +
      '([inventory.md](inventory.md#write-profiles-into-a-hub)).',
    flags: [
      ...kubeconfigFlags,
      { flags: '-n, --namespace <namespace>', doc: 'Namespace of the profiles. Required.' },
      { flags: '-l, --selector <selector>', doc: 'Label selector of the clusters.' },
      {
        flags: '--manager <name>',
        doc: 'Name of the cluster manager, different for each Clusterpass of a hub.',
        default: 'clusterpass',
      },
      { flags: '--provider <name>', doc: 'Name of the access provider.', default: 'clusterpass' },
      { flags: '--property <label>', doc: 'Label of clusters that becomes a property.', repeatable: true },
      {
        flags: '--endpoint-for <address>',
        doc: 'Choose the endpoint of each cluster as for a client at this IP address. Defaults to the endpoint for every client.',
      },
      ...SYNC_FLAGS,
    ],
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
    flags: [
      { flags: '--from <capi|ocm|clusterprofile>', doc: 'What to read in the hub. Required.' },
      ...kubeconfigFlags,
      {
        flags: '--hub-name <name>',
        doc: 'Name of the hub in the annotation, different for each hub. Defaults to the host of its address. Required in a Pod without `--kubeconfig`.',
      },
      { flags: '--hub-namespace <namespace>', doc: 'Namespace to read. Not with `--from ocm`.' },
      { flags: '-A, --all-namespaces', doc: 'Read all namespaces.' },
      {
        flags: '--name <template>',
        doc: 'Name of a cluster, with `{namespace}` and `{name}` of the object.',
        default: '{name}',
      },
      { flags: '--set-label <key=value>', doc: 'Label of every cluster.', repeatable: true },
      {
        flags: '--copy-label <key>',
        doc: 'Label that is copied from the object, or a claim of a ManagedCluster. Who may change it there decides who reaches the cluster.',
        repeatable: true,
      },
      { flags: '--ready', doc: 'Take health and version from the hub. Without it, the prober finds them.' },
      { flags: '--without-ca', doc: 'Register no CA: the system CAs verify the clusters.' },
      {
        flags: '--access-provider <name>',
        doc: 'With `--from clusterprofile`: access provider to read. Defaults to the first with an https address.',
      },
      {
        flags: '--manager <name>',
        doc: 'With `--from clusterprofile`: leave out profiles of this manager.',
        default: 'clusterpass',
      },
      ...SYNC_FLAGS,
    ],
    notRun: 'they need a hub',
    examples: [
      'clusterpass sync import --from capi --kubeconfig hub.yaml -A --name {namespace}-{name} --copy-label env',
      'clusterpass sync import --from ocm --kubeconfig hub.yaml --set-label source=ocm --ready --prune',
      'clusterpass sync import --from clusterprofile --kubeconfig hub.yaml --hub-namespace fleet --once',
    ],
  },
];

import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { FULL_CLUSTERS } from '../../client/list-clusters.ts';
import { servedVersion } from '../../sync/api-version.ts';
import { applyTarget } from '../../sync/apply-target.ts';
import { capiKubeconfigs } from '../../sync/capi-kubeconfigs.ts';
import { type ImportSettings, importedState, importFieldManager, importOwnership } from '../../sync/import-clusters.ts';
import { sourcePath } from '../../sync/sources/import-source.ts';
import { type ImportFrom, SOURCES } from '../../sync/sources/sources.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { resolveConnection } from '../connection/connection.ts';
import { connectCluster, connectServer, podServerOf } from '../sync/cluster-connection.ts';
import { runSync, syncFlags } from '../sync/run-sync.ts';

/** Registers the clusters of a hub and keeps them up to date (CP-88, CP-89). */
export const run: Run = async (context, invocation) => {
  const flags = syncFlags(invocation);
  const from = invocation.required('from') as ImportFrom;
  const source = SOURCES[from];
  const hubNamespace = namespaceFrom(invocation, from);
  const hubName = hubNameFrom(context, invocation);
  const connection = await resolveConnection(context, invocation);
  const server = connectServer(context, connection);
  const hub = await connectCluster(context, invocation);
  const hubSettings = { from, hub: hubName ?? new URL(hub.server).host, hubNamespace };
  const settings = settingsFrom(invocation, hubSettings, connection.productName);
  const sourceSettings = {
    withoutCa: invocation.is('withoutCa'),
    accessProvider: invocation.text('accessProvider'),
    manager: invocation.value('manager'),
    readKubeconfig: capiKubeconfigs(hub.transport, context.now),
  };
  return runSync(context, invocation, {
    flags,
    resource: `cluster.${CLUSTER_GROUP}`,
    clusterSide: 'SourceConnected',
    open: async ({ informer, signal }) => {
      const version = await servedVersion(hub.transport, source.group, source.versions, signal);
      const path = sourcePath(source, version, hubNamespace);
      const found = informer('SourceConnected', { transport: hub.transport, path });
      const clusters = informer('TargetConnected', { transport: server, path: FULL_CLUSTERS });
      return {
        sources: [found],
        targets: [clusters],
        desired: () => importedState(found.objects.values(), source, { ...settings, ...sourceSettings }),
        target: applyTarget({
          ...{ transport: server, path: FULL_CLUSTERS, informer: clusters },
          fieldManager: importFieldManager(from),
          dryRun: flags.dryRun === 'server',
        }),
        ownership: importOwnership(settings),
      };
    },
  });
};

/** Undefined: all namespaces. */
function namespaceFrom(invocation: Invocation, from: ImportFrom): string | undefined {
  const namespace = invocation.text('hubNamespace');
  const isAll = invocation.is('allNamespaces');
  if (!SOURCES[from].isNamespaced) {
    if (namespace !== undefined) throw new CliError(`--hub-namespace: objects of --from ${from} have no namespace`);
    return undefined;
  }
  if ((namespace !== undefined) === isAll) throw new CliError('set either --hub-namespace or -A');
  return namespace;
}

/** Undefined: the host of the hub's address, which identifies it outside of Pods. */
function hubNameFrom(context: Context, invocation: Invocation): string | undefined {
  const hubName = invocation.text('hubName');
  if (hubName === undefined) {
    const podServer = podServerOf(context, invocation);
    if (podServer === undefined) return undefined;
    throw new CliError(
      `--hub-name is required in a Pod: the default would be the address ${new URL(podServer).host}, which is the same ` +
        'in many clusters, and with --prune hubs of one name delete the clusters of each other',
    );
  }
  if (/^[\w.:[\]-]{1,253}$/.test(hubName)) return hubName;
  throw new CliError(`--hub-name: ${JSON.stringify(hubName)} must consist of letters, digits, ".", "-" and "_"`);
}

function settingsFrom(
  invocation: Invocation,
  hubSettings: Pick<ImportSettings, 'from' | 'hub' | 'hubNamespace'>,
  productName: string,
): ImportSettings {
  const nameTemplate = invocation.value('name');
  if (!nameTemplate.includes('{name}')) {
    throw new CliError(`--name: ${JSON.stringify(nameTemplate)} must contain {name}, or all clusters have one name`);
  }
  return {
    ...hubSettings,
    nameTemplate,
    setLabels: invocation.labels('setLabel'),
    copyLabels: invocation.list('copyLabel'),
    ready: invocation.is('ready'),
    productName,
  };
}

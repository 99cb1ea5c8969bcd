import { PROFILE_GROUP } from '../../api/clusters/profile-of-cluster.ts';
import { isValidLabelValue } from '../../api/names.ts';
import { clustersPath } from '../../client/list-clusters.ts';
import { readAddress } from '../../lib/network.ts';
import { servedVersion } from '../../sync/api-version.ts';
import { applyTarget } from '../../sync/apply-target.ts';
import {
  EXPORT_FIELD_MANAGER,
  type ExportSettings,
  exportedState,
  exportOwnership,
  PROFILE_VERSIONS,
  profilesPath,
  withProfile,
} from '../../sync/export-profiles.ts';
import { CliError, type Invocation, type Run } from '../command.ts';
import { resolveConnection } from '../connection/connection.ts';
import { connectCluster, connectServer } from '../sync/cluster-connection.ts';
import { runSync, syncFlags } from '../sync/run-sync.ts';

/** Writes the clusters of Clusterpass as ClusterProfiles into a hub, and keeps them up to date (CP-86, CP-87). */
export const run: Run = async (context, invocation) => {
  const flags = syncFlags(invocation);
  const connection = await resolveConnection(context, invocation);
  const settings = settingsFrom(invocation, connection.server);
  const server = connectServer(context, connection);
  const { transport } = await connectCluster(context, invocation);
  return runSync(context, invocation, {
    flags,
    resource: `clusterprofile.${PROFILE_GROUP}`,
    clusterSide: 'TargetConnected',
    open: async ({ informer, signal }) => {
      const version = await servedVersion(transport, PROFILE_GROUP, PROFILE_VERSIONS, signal);
      const path = profilesPath(version, settings.namespace);
      const profiles = informer('TargetConnected', { transport, path });
      const clusters = informer('SourceConnected', {
        transport: server,
        path: clustersPath('public'),
        labelSelector: invocation.text('selector'),
        transform: (cluster) => withProfile(cluster, version, settings),
      });
      return {
        sources: [clusters],
        targets: [profiles],
        desired: () => exportedState(clusters.objects.values()),
        target: applyTarget({
          ...{ transport, path, informer: profiles },
          fieldManager: EXPORT_FIELD_MANAGER,
          dryRun: flags.dryRun === 'server',
        }),
        ownership: exportOwnership(settings),
      };
    },
  });
};

function settingsFrom(invocation: Invocation, server: string): ExportSettings {
  const manager = invocation.value('manager');
  if (manager === '' || isValidLabelValue(manager).length > 0) {
    throw new CliError(`--manager: ${JSON.stringify(manager)} is not a label value of 1 to 63 characters`);
  }
  const endpointFor = invocation.text('endpointFor');
  if (endpointFor !== undefined && readAddress(endpointFor) === undefined) {
    throw new CliError(`--endpoint-for: ${JSON.stringify(endpointFor)} is not an IP address`);
  }
  return {
    namespace: invocation.required('namespace'),
    manager,
    provider: invocation.value('provider'),
    properties: invocation.list('property'),
    endpointFor,
    server,
  };
}

import { PROFILE_GROUP } from '../../api/clusters/profile-of-cluster.ts';
import { isValidLabelValue } from '../../api/names.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus } from '../../client/errors.ts';
import { realTiming } from '../../lib/backoff.ts';
import { readAddress } from '../../lib/network.ts';
import { servedVersion } from '../../sync/api-version.ts';
import { ApplyTarget } from '../../sync/apply-target.ts';
import {
  EXPORT_FIELD_MANAGER,
  ExportedProfiles,
  type ExportSettings,
  exportOwnership,
  PROFILE_VERSIONS,
  profilesPath,
} from '../../sync/export-profiles.ts';
import { Informer } from '../../sync/informer.ts';
import type { Reporter, SourceProblem } from '../../sync/reporter.ts';
import { CliError, type Invocation, type Run } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { connectCluster } from '../sync/cluster-connection.ts';
import { runSync, type Sides, syncFlags } from '../sync/run-sync.ts';

/** Writes the clusters of Clusterpass as ClusterProfiles into a hub, and keeps them up to date (CP-86, CP-87). */
export const run: Run = async (context, invocation) => {
  const flags = syncFlags(invocation);
  const connection = await resolveConnection(context, invocation);
  const settings = settingsFrom(invocation, connection.server);
  const client = await clientFor(context, connection);
  const { transport } = await connectCluster(context, invocation);
  const labelSelector = invocation.text('selector');
  return runSync(context, invocation, {
    flags,
    resource: `clusterprofile.${PROFILE_GROUP}`,
    clusterSide: 'TargetConnected',
    open: async ({ reporter, wake, signal }): Promise<Sides> => {
      const version = await servedVersion(transport, PROFILE_GROUP, PROFILE_VERSIONS, signal);
      const path = profilesPath(version, settings.namespace);
      const informer = new Informer({
        transport,
        path,
        timing: realTiming,
        onChange: wake,
        onConnection: (problem) =>
          reporter.setCondition('TargetConnected', problem === undefined, problem?.message ?? ''),
      });
      const newProfiles = (): ExportedProfiles => new ExportedProfiles(settings, version);
      const source = new ClusterSource({ client, labelSelector, newProfiles, reporter, wake });
      return {
        read: async () => source.state,
        target: new ApplyTarget({
          ...{ transport, path, informer },
          fieldManager: EXPORT_FIELD_MANAGER,
          dryRun: flags.dryRun === 'server',
        }),
        isTargetSynced: () => informer.isSynced,
        ownership: exportOwnership(settings),
        list: async () => {
          await Promise.all([source.list(), informer.list()]);
        },
        follow: async (until) => {
          await Promise.all([source.follow(until), informer.run(until)]);
        },
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
    namespace: invocation.required('namespace', '--namespace'),
    manager,
    provider: invocation.value('provider'),
    properties: invocation.list('property'),
    endpointFor,
    server,
  };
}

interface SourceOptions {
  readonly client: Client;
  readonly labelSelector: string | undefined;
  readonly newProfiles: () => ExportedProfiles;
  readonly reporter: Reporter;
  readonly wake: () => void;
}

/** The clusters of the server, as profiles. */
class ClusterSource {
  readonly #options: SourceOptions;
  #profiles: ExportedProfiles | undefined;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  get state() {
    if (this.#profiles === undefined) return undefined;
    return { objects: this.#profiles.objects, kept: new Set<string>(), problems: new Map<string, SourceProblem>() };
  }

  get #selection(): { labelSelector?: string } {
    const { labelSelector } = this.#options;
    return labelSelector === undefined ? {} : { labelSelector };
  }

  async list(): Promise<void> {
    const profiles = this.#options.newProfiles();
    for (const cluster of (await this.#options.client.listClusters(this.#selection)).items) profiles.put(cluster);
    this.#profiles = profiles;
  }

  /** Watches again after every error but a bad request, e.g. a selector that cannot be read. */
  async follow(signal: AbortSignal): Promise<void> {
    const { client, reporter, wake, newProfiles } = this.#options;
    const profiles = newProfiles();
    const events = client.watchClusters({
      ...this.#selection,
      signal,
      retries: (error) => !isStatus(error, 400) && !isStatus(error, 422),
      onConnected: () => {
        reporter.setCondition('SourceConnected', true);
        wake();
      },
      onInterruption: (cause) => {
        if (cause instanceof Error) reporter.setCondition('SourceConnected', false, cause.message);
      },
      onSynced: () => {
        this.#profiles = profiles;
        wake();
      },
    });
    for await (const { type, cluster } of events) {
      if (type === 'DELETED') profiles.delete(cluster);
      else profiles.put(cluster);
      wake();
    }
  }
}

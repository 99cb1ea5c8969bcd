import type { Cluster } from '../client/types.ts';
import { terminalSafe } from '../lib/text.ts';
import {
  type ClusterReference,
  clusterLabel,
  clusterReferences,
  clustersNamed,
  namesAt,
} from './cluster-references.ts';
import { CliError, type Context, type Invocation } from './command.ts';
import { askAll, type NamedServer } from './connection/all-servers.ts';
import { nearestClusters, orMeant } from './suggest-cluster.ts';

/** Which clusters a command is about: by name, if there are names. */
export interface ClusterChoice {
  readonly references: readonly ClusterReference[];
  readonly labelSelector: string | undefined;
}

/** The selected clusters of one server. */
export interface ServerClusters {
  readonly server: NamedServer;
  readonly clusters: readonly Cluster[];
}

/** Of `--cluster` and `--selector`. */
export function clusterChoice(invocation: Invocation, servers: readonly NamedServer[]): ClusterChoice {
  const labelSelector = invocation.text('selector');
  const names = invocation.list('cluster');
  if (names.length > 0 && labelSelector !== undefined) throw new CliError('selectors cannot be combined with names');
  return { references: clusterReferences(names, servers), labelSelector };
}

/** The clusters of the servers that answer. Says on stderr what is missing. */
export async function selectedClusters(
  context: Context,
  servers: readonly NamedServer[],
  { references, labelSelector }: ClusterChoice,
): Promise<{ readonly parts: readonly ServerClusters[]; readonly isWhole: boolean }> {
  const { answers, failed } = await askAll(context, servers, async (server) => {
    if (references.length > 0) return clustersNamed(server, namesAt(server, references));
    return (await server.client.listClusters({ labelSelector })).items;
  });
  const parts = answers.map(({ server, value: clusters }) => ({ server, clusters }));
  const isFound = ({ name, server: wanted }: ClusterReference): boolean =>
    parts.some(
      ({ server, clusters }) =>
        (wanted === undefined || wanted === server) && clusters.some(({ metadata }) => metadata.name === name),
    );
  const missing = failed.length > 0 ? [] : references.filter((reference) => !isFound(reference));
  const meant = await nearestClusters(servers, missing);
  for (const reference of missing) {
    const { name, server } = reference;
    const label = terminalSafe(server === undefined ? name : clusterLabel(servers, server, name));
    const problem = `there is no such cluster that you may see${orMeant(meant.get(reference))}`;
    context.err.write(`error: ${label}: ${problem}\n`);
  }
  return { parts, isWhole: failed.length === 0 && missing.length === 0 };
}

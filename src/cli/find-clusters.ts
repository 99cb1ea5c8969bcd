import { StatusError } from '../client/errors.ts';
import type { Cluster } from '../client/types.ts';
import { type ClusterReference, namesAt } from './cluster-references.ts';
import { checkedNames, getCluster } from './clusters.ts';
import { CliError, type Context } from './command.ts';
import { askAll, failureAt, type NamedServer } from './connection/all-servers.ts';
import { describeError } from './describe-error.ts';
import { nearestClusters } from './suggest-cluster.ts';

export interface LocatedCluster {
  readonly server: NamedServer;
  readonly cluster: Cluster;
}

export interface FoundClusters {
  readonly found: readonly LocatedCluster[];
  /** Why a name was found at no server. */
  readonly problems: readonly unknown[];
  /** The names that were probably meant. */
  readonly hints: readonly string[];
  readonly failed: readonly NamedServer[];
}

/** Any other error, e.g. 503, does not say whether the server has the cluster. */
const isNotHere = (error: unknown): boolean => error instanceof StatusError && [403, 404].includes(error.code);

/** Reads the named clusters, with all of their fields. A name that several servers have is found once at each. */
export async function findClusters(
  context: Context,
  servers: readonly NamedServer[],
  references: readonly ClusterReference[],
): Promise<FoundClusters> {
  const asked = servers.filter((server) => namesAt(server, references).length > 0);
  const { answers, failed } = await askAll(context, asked, async (server) => {
    const names = namesAt(server, references);
    const results = await Promise.allSettled(names.map((name) => getCluster(server.client, name)));
    const fatal = results.find((result) => result.status === 'rejected' && !isNotHere(result.reason));
    if (fatal?.status === 'rejected') throw fatal.reason;
    checkedNames(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
    return new Map(names.map((name, at) => [name, results[at] as PromiseSettledResult<Cluster>]));
  });
  const found: LocatedCluster[] = [];
  const problems: unknown[] = [];
  const missing: ClusterReference[] = [];
  for (const reference of references) {
    const { name, server: wanted } = reference;
    const at = answers.filter(({ server }) => wanted === undefined || server === wanted);
    const here = at.flatMap(({ server, value }) => {
      const result = value.get(name);
      return result?.status === 'fulfilled' ? [{ server, cluster: result.value }] : [];
    });
    found.push(...here);
    if (here.length > 0) continue;
    if (at.length > 0) missing.push(reference);
    const reasons = at.flatMap(({ server, value }) => {
      const result = value.get(name);
      return result?.status === 'rejected' ? [{ server, error: result.reason as unknown }] : [];
    });
    const isSame = new Set(reasons.map(({ error }) => describeError(error))).size === 1;
    const named = reasons.map(({ server, error }) => new CliError(failureAt(server, error)));
    problems.push(...(isSame ? reasons.slice(0, 1).map(({ error }) => error) : named));
  }
  const hints = [...(await nearestClusters(servers, missing)).values()].map(
    (meant) => `Did you mean the cluster ${meant}?`,
  );
  return { found, problems, hints, failed: asked.length === failed.length ? servers : failed };
}

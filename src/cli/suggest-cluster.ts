import type { Client } from '../client/create-client.ts';
import { isStatus } from '../client/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { terminalSafe } from '../lib/text.ts';
import { type ClusterReference, clusterLabel } from './cluster-references.ts';
import { publicCluster } from './clusters.ts';
import type { Context, Invocation } from './command.ts';
import type { NamedServer } from './connection/all-servers.ts';
import { clientFor, resolveConnection } from './connection/connection.ts';
import { describeError } from './describe-error.ts';

/** How many names are read at a server: an error must not wait for the list of a large fleet. */
const MAX_NAMES = 10_000;
/** For how many names one is suggested: each is compared with all that were read, which takes 0.1 s. */
const MAX_MISSING = 10;

/** The clusters whose names are nearest to those that were not found, of the ones that the caller sees. */
export async function nearestClusters(
  servers: readonly NamedServer[],
  allMissing: readonly ClusterReference[],
): Promise<ReadonlyMap<ClusterReference, string>> {
  const missing = allMissing.slice(0, MAX_MISSING);
  const asked = servers.filter((server) => missing.some((each) => [undefined, server].includes(each.server)));
  const known = await Promise.all(asked.map(async (server) => ({ server, names: await visibleNames(server) })));
  const found = missing.map((reference): [ClusterReference, string | undefined] => {
    const candidates = known.filter(({ server }) => [undefined, server].includes(reference.server));
    const name = nearest(
      reference.name,
      candidates.flatMap(({ names }) => names),
    );
    const at = candidates.find(({ names }) => name !== undefined && names.includes(name));
    // A cluster with this name is visible: it was refused for another reason.
    if (name === undefined || at === undefined || name === reference.name) return [reference, undefined];
    return [reference, terminalSafe(clusterLabel(servers, at.server, name))];
  });
  return new Map(found.filter((each): each is [ClusterReference, string] => each[1] !== undefined));
}

/** The error about the name is what matters: it is printed also if this request fails. */
async function visibleNames({ client }: NamedServer): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { items } of client.clusterPages()) {
      names.push(...items.map(({ metadata }) => metadata.name));
      if (names.length >= MAX_NAMES) break;
    }
  } catch (error) {
    if (describeError(error) === undefined) throw error;
  }
  return names;
}

/** `; did you mean prod-1?` */
export const orMeant = (name: string | undefined): string => (name === undefined ? '' : `; did you mean ${name}?`);

/** A line for an error of a command for one cluster, if its name is probably misspelled. */
export async function clusterHint(
  context: Context,
  invocation: Invocation,
  cluster: string,
  error: unknown,
): Promise<string | undefined> {
  if (!isStatus(error, 404) && !isStatus(error, 403)) return undefined;
  const reference = { name: cluster, server: undefined };
  try {
    const connection = await resolveConnection(context, invocation);
    const server = { name: connection.server, connection, client: clientFor(context, connection) };
    // Most errors are about something else than the name: the fleet is not listed for them.
    if ((await publicCluster(server.client, cluster)) !== undefined) return undefined;
    const name = (await nearestClusters([server], [reference])).get(reference);
    return name === undefined ? undefined : `Did you mean the cluster ${name}?`;
  } catch (failure) {
    if (describeError(failure) !== undefined) return undefined;
    throw failure;
  }
}

/** `ci/builder`: the usable account of the cluster whose name is nearest to this one, if that is not usable itself. */
export async function nearestAccount(client: Client, cluster: string, account: string): Promise<string | undefined> {
  // The error about the name is what matters: it is printed also if this request fails.
  const usable = await client.usableAccounts(cluster).catch(() => undefined);
  const names = usable?.items.map(({ namespace, name }) => `${namespace}/${name}`) ?? [];
  const found = nearest(account, names);
  return found === account || found === undefined ? undefined : terminalSafe(found);
}

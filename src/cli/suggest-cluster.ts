import { isStatus } from '../client/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { type ClusterReference, clusterLabel } from './cluster-references.ts';
import { CliError, type Context, type Invocation } from './command.ts';
import type { NamedServer } from './connection/all-servers.ts';
import { clientFor, resolveConnection } from './connection/connection.ts';
import { describeError } from './describe-error.ts';
import { terminalSafe } from './output/terminal-safe.ts';

/** How many names are read at a server: an error must not wait for the list of a large fleet. */
const MAX_NAMES = 10_000;

/** The clusters whose names are nearest to those that were not found, of the ones that the caller sees. */
export async function nearestClusters(
  servers: readonly NamedServer[],
  missing: readonly ClusterReference[],
): Promise<ReadonlyMap<ClusterReference, string>> {
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
    const server = { name: connection.server, connection, client: await clientFor(context, connection) };
    const name = (await nearestClusters([server], [reference])).get(reference);
    return name === undefined ? undefined : `Did you mean the cluster ${name}?`;
  } catch (failure) {
    if (failure instanceof CliError) return undefined;
    throw failure;
  }
}

import { isClusterType } from './clusters.ts';
import { CliError } from './command.ts';
import type { NamedServer } from './connection/all-servers.ts';
import { serverUrl } from './connection/connection.ts';

/** A cluster as the user names it. */
export interface ClusterReference {
  readonly name: string;
  /** Undefined: of any server. */
  readonly server: NamedServer | undefined;
}

/** `prod-1`, `eu/prod-1`, and both with kubectl's `cluster/` before them. */
export function clusterReferences(
  texts: readonly string[],
  servers: readonly NamedServer[],
): readonly ClusterReference[] {
  const isTyped = (text: string): boolean => text.includes('/') && isClusterType(text.slice(0, text.indexOf('/')));
  if (texts.some(isTyped) && !texts.every(isTyped)) {
    throw new CliError('arguments in resource/name form must have a single resource and name');
  }
  return texts.map((text) => referenceOf(isTyped(text) ? text.slice(text.indexOf('/') + 1) : text, servers));
}

function referenceOf(text: string, servers: readonly NamedServer[]): ClusterReference {
  const slash = text.lastIndexOf('/');
  const name = text.slice(slash + 1);
  if (slash < 0) return { name, server: undefined };
  const given = text.slice(0, slash);
  const server = servers.find((known) => known.name === given || known.connection.server === addressOf(given));
  if (server !== undefined && name !== '') return { name, server };
  const known = servers.map((each) => each.name).join(', ');
  throw new CliError(`${JSON.stringify(text)}: expected NAME or SERVER/NAME, with one of these servers: ${known}`);
}

/** Undefined if it is not an address. */
function addressOf(text: string): string | undefined {
  try {
    return serverUrl(text);
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

/** The names that a server is asked for. */
export const namesAt = (server: NamedServer, references: readonly ClusterReference[]): readonly string[] => [
  ...new Set(references.filter((each) => each.server === undefined || each.server === server).map(({ name }) => name)),
];

/** The name of a cluster in a list of several servers. */
export const clusterLabel = (
  servers: readonly NamedServer[],
  { name: server }: NamedServer,
  cluster: string,
): string => (servers.length === 1 ? cluster : `${server}/${cluster}`);

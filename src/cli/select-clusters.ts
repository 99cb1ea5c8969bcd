import type { Client } from '../client/create-client.ts';
import { isStatus, type StatusError } from '../client/errors.ts';
import type { Cluster, ClusterSelection } from '../client/types.ts';
import { nearest, orMeant } from '../lib/nearest.ts';
import { terminalSafe } from '../lib/text.ts';
import { checkedNames, getCluster, isClusterType, publicCluster } from './clusters.ts';
import { CliError, type Context, type Invocation } from './command.ts';
import { askAll, type NamedServer } from './connection/all-servers.ts';
import { clientFor, resolveConnection, serverUrl } from './connection/connection.ts';
import { describeError } from './describe-error.ts';

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

function addressOf(text: string): string | undefined {
  try {
    return serverUrl(text);
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

/** Whether a reference is to a cluster of this server. */
const isAt = ({ server }: ClusterReference, at: NamedServer): boolean => server === undefined || server === at;

/** The name of a cluster in a list of several servers. */
export const clusterLabel = ({ name, isOneOfSeveral }: NamedServer, cluster: string): string =>
  isOneOfSeveral ? `${name}/${cluster}` : cluster;

/** The visible cluster whose name is nearest to one that was not found. */
async function nearestCluster(
  servers: readonly NamedServer[],
  reference: ClusterReference,
): Promise<string | undefined> {
  const labels = new Map<string, string>();
  for (const server of servers.filter((each) => isAt(reference, each))) {
    // The error about the name is what matters: it is printed also if this request fails.
    const list = await server.client.listClusters().catch(() => undefined);
    for (const { metadata } of list?.items ?? []) {
      labels.set(metadata.name, clusterLabel(server, metadata.name));
    }
  }
  const found = nearest(reference.name, [...labels.keys()]);
  return found === undefined ? undefined : terminalSafe(labels.get(found) ?? found);
}

/** A line for an error of a command for one cluster, if its name is probably misspelled. */
export async function clusterHint(
  context: Context,
  invocation: Invocation,
  cluster: string,
  error: unknown,
): Promise<string | undefined> {
  if (!isStatus(error, 404) && !isStatus(error, 403)) return undefined;
  try {
    const connection = await resolveConnection(context, invocation);
    const client = clientFor(context, connection);
    const server = { name: connection.server, isOneOfSeveral: false, connection, client };
    // Most errors are about something else than the name: the fleet is not listed for them.
    if ((await publicCluster(client, cluster)) !== undefined) return undefined;
    const name = await nearestCluster([server], { name: cluster, server: undefined });
    return name === undefined ? undefined : `Did you mean the cluster ${name}?`;
  } catch (failure) {
    if (describeError(failure) !== undefined) return undefined;
    throw failure;
  }
}

/** Which clusters a command is about: by name, if there are names. */
export interface ClusterChoice {
  readonly references: readonly ClusterReference[];
  readonly labelSelector?: string | undefined;
}

/** Of `--cluster` and `--selector`. */
export function clusterChoice(invocation: Invocation, servers: readonly NamedServer[]): ClusterChoice {
  const labelSelector = invocation.text('selector');
  const names = invocation.list('cluster');
  if (names.length > 0 && labelSelector !== undefined) throw new CliError('selectors cannot be combined with names');
  return { references: clusterReferences(names, servers), labelSelector };
}

/** How clusters are read at one server. */
interface Reading {
  /** Undefined: the caller sees no such cluster there. */
  one(client: Client, name: string): Promise<Cluster | undefined>;
  all(client: Client): Promise<readonly Cluster[]>;
}

export interface LocatedCluster {
  readonly server: NamedServer;
  readonly cluster: Cluster;
}

/** What users see of clusters. */
const publicClusters = (labelSelector: string | undefined): Reading => ({
  one: publicCluster,
  all: async (client) => (await client.listClusters({ labelSelector })).items,
});

/** Clusters with all of their fields. */
export const fullClusters = (selection: ClusterSelection = {}): Reading => ({
  one: async (client, name) => {
    const cluster = await getCluster(client, name).catch(ifHidden);
    return cluster && checkedNames([cluster])[0];
  },
  all: async (client) => checkedNames((await client.listClusters({ ...selection, view: 'full' })).items),
});

/** Any other error, e.g. 503, does not say whether the server has the cluster. */
function ifHidden(error: unknown): undefined {
  if (!isStatus(error, 403) && !isStatus(error, 404)) throw error as StatusError;
}

/**
 * Finds the named clusters, or reads all. A name that several servers have is found once at each. Names that no server
 * has, and servers that do not answer, are told on stderr.
 */
export async function findClusters(
  context: Context,
  servers: readonly NamedServer[],
  { references, labelSelector }: ClusterChoice,
  read = publicClusters(labelSelector),
) {
  const isAll = references.length === 0;
  const asked = servers.filter((server) => isAll || references.some((each) => isAt(each, server)));
  const { answers, failed } = await askAll(context, asked, async (server) => {
    const names = new Set(references.filter((each) => isAt(each, server)).map(({ name }) => name));
    return isAll ? read.all(server.client) : Promise.all([...names].map((name) => read.one(server.client, name)));
  });
  const located = answers.flatMap(({ server, value }) =>
    value.filter((cluster) => cluster !== undefined).map((cluster): LocatedCluster => ({ server, cluster })),
  );
  const locatedAs = (reference: ClusterReference): LocatedCluster[] =>
    located.filter(({ server, cluster }) => isAt(reference, server) && cluster.metadata.name === reference.name);
  // Of another name, a server may know that did not answer.
  const missing = references.filter(
    (each) => locatedAs(each).length === 0 && !failed.some((server) => isAt(each, server)),
  );
  for (const each of missing) {
    const label = each.server === undefined ? each.name : clusterLabel(each.server, each.name);
    const meant = missing.length === 1 ? await nearestCluster(servers, each) : undefined;
    context.err.write(`error: ${terminalSafe(label)}: there is no such cluster that you may see${orMeant(meant)}\n`);
  }
  return {
    found: isAll ? located : [...new Set(references.flatMap(locatedAs))],
    failed,
    isWhole: failed.length === 0 && missing.length === 0,
  };
}

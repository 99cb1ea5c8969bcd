import type { Client } from '../client/create-client.ts';
import { isStatus, StatusError } from '../client/errors.ts';
import type { Cluster, ClusterSelection } from '../client/types.ts';
import { nearest, orMeant } from '../lib/nearest.ts';
import { terminalSafe } from '../lib/text.ts';
import { checkedNames, getCluster, isClusterType, publicCluster } from './clusters.ts';
import { CliError, type Context, type Invocation } from './command.ts';
import { askAll, failureAt, type NamedServer } from './connection/all-servers.ts';
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

function addressOf(text: string): string | undefined {
  try {
    return serverUrl(text);
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

/** The names that a server is asked for. */
const namesAt = (server: NamedServer, references: readonly ClusterReference[]): readonly string[] => [
  ...new Set(references.filter((each) => each.server === undefined || each.server === server).map(({ name }) => name)),
];

/** The name of a cluster in a list of several servers. */
export const clusterLabel = (
  servers: readonly NamedServer[],
  { name: server }: NamedServer,
  cluster: string,
): string => (servers.length === 1 ? cluster : `${server}/${cluster}`);

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
  /** Undefined, 403 and 404: the caller sees no such cluster there. */
  one(client: Client, name: string): Promise<Cluster | undefined>;
  all(client: Client): Promise<readonly Cluster[]>;
}

export interface LocatedCluster {
  readonly server: NamedServer;
  readonly cluster: Cluster;
  /** How the user has named it. */
  readonly reference?: ClusterReference;
}

/** A name that no server has, of those that answered. */
interface MissingCluster {
  readonly label: string;
  /** What they answered. */
  readonly reasons: readonly { readonly server: NamedServer; readonly error: StatusError }[];
  /** The name that was probably meant. */
  readonly meant: string | undefined;
  /** Another server may have it, which did not answer. */
  readonly isUnknown: boolean;
}

/** Finds the named clusters, or reads all. A name that several servers have is found once at each. */
export async function selectClusters(
  context: Context,
  servers: readonly NamedServer[],
  references: readonly ClusterReference[],
  read: Reading,
) {
  if (references.length === 0) {
    const { answers, failed } = await askAll(context, servers, ({ client }) => read.all(client));
    const found: LocatedCluster[] = answers.flatMap(({ server, value }) =>
      value.map((cluster) => ({ server, cluster })),
    );
    return { found, missing: [], failed };
  }
  const asked = servers.filter((server) => namesAt(server, references).length > 0);
  const { answers, failed } = await askAll(context, asked, async (server) => {
    const names = namesAt(server, references);
    const results = await Promise.all(names.map((name) => read.one(server.client, name).catch(ifNotHere)));
    return new Map(names.map((name, at) => [name, results[at]]));
  });
  const found: LocatedCluster[] = [];
  const missing: (MissingCluster & { readonly reference: ClusterReference })[] = [];
  for (const reference of references) {
    const isAt = (server: NamedServer): boolean => [undefined, server].includes(reference.server);
    const reasons: MissingCluster['reasons'][number][] = [];
    const before = found.length;
    const asked = answers.filter(({ server }) => isAt(server));
    for (const { server, value } of asked) {
      const result = value.get(reference.name);
      if (result instanceof StatusError) reasons.push({ server, error: result });
      else if (result !== undefined) found.push({ server, cluster: result, reference });
    }
    if (asked.length === 0 || found.length > before) continue;
    const label =
      reference.server === undefined ? reference.name : clusterLabel(servers, reference.server, reference.name);
    missing.push({ reference, label, reasons, meant: undefined, isUnknown: failed.some(isAt) });
  }
  const meant = await nearestClusters(
    servers,
    missing.map(({ reference }) => reference),
  );
  return { found, missing: missing.map((each) => ({ ...each, meant: meant.get(each.reference) })), failed };
}

/** Any other error, e.g. 503, does not say whether the server has the cluster. */
function ifNotHere(error: unknown): StatusError {
  if (error instanceof StatusError && [403, 404].includes(error.code)) return error;
  throw error;
}

/** What users see of clusters. */
export const publicClusters = (labelSelector?: string): Reading => ({
  one: publicCluster,
  all: async (client) => (await client.listClusters({ labelSelector })).items,
});

/** Clusters with all of their fields. */
export const fullClusters = (selection: ClusterSelection = {}): Reading => ({
  one: async (client, name) => checkedNames([await getCluster(client, name)])[0],
  all: async (client) => checkedNames((await client.listClusters({ ...selection, view: 'full' })).items),
});

export const absenceOf = ({ meant }: MissingCluster): string =>
  `there is no such cluster that you may see${orMeant(meant)}`;

/** What the servers answered for names that none has, and the names that were probably meant. */
export const missingLines = (missing: readonly MissingCluster[]): string[] => [
  ...missing.flatMap(({ reasons }) => {
    const texts = new Set(reasons.map(({ error }) => describeError(error) ?? ''));
    return texts.size === 1 ? [...texts] : reasons.map(({ server, error }) => `error: ${failureAt(server, error)}`);
  }),
  ...missing.flatMap(({ meant }) => (meant === undefined ? [] : [`Did you mean the cluster ${meant}?`])),
];

export interface ServerClusters {
  readonly server: NamedServer;
  readonly clusters: readonly Cluster[];
}

/** The clusters of the servers that answer. Says on stderr what is missing. */
export async function selectedClusters(
  context: Context,
  servers: readonly NamedServer[],
  { references, labelSelector }: ClusterChoice,
): Promise<{ readonly parts: readonly ServerClusters[]; readonly isWhole: boolean }> {
  const read = publicClusters(labelSelector);
  const { found, missing, failed } = await selectClusters(context, servers, references, read);
  for (const each of missing) {
    if (!each.isUnknown) context.err.write(`error: ${terminalSafe(each.label)}: ${absenceOf(each)}\n`);
  }
  // One that is named twice counts once.
  const clustersAt = (server: NamedServer): Cluster[] => [
    ...new Set(found.filter((each) => each.server === server).map(({ cluster }) => cluster)),
  ];
  const answered = servers.filter((server) => !failed.includes(server));
  const parts = answered.map((server) => ({ server, clusters: clustersAt(server) }));
  return { parts, isWhole: failed.length === 0 && missing.length === 0 };
}

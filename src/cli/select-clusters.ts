import type { Client } from '../client/create-client.ts';
import { StatusError } from '../client/errors.ts';
import type { Cluster, ClusterSelection } from '../client/types.ts';
import { terminalSafe } from '../lib/text.ts';
import { type ClusterReference, clusterLabel, clusterReferences, namesAt } from './cluster-references.ts';
import { checkedNames, getCluster, publicCluster } from './clusters.ts';
import { CliError, type Context, type Invocation } from './command.ts';
import { askAll, failureAt, type NamedServer } from './connection/all-servers.ts';
import { describeError } from './describe-error.ts';
import { nearestClusters, orMeant } from './suggest-cluster.ts';

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
export interface MissingCluster {
  readonly label: string;
  /** What they answered. */
  readonly reasons: readonly { readonly server: NamedServer; readonly error: StatusError }[];
  /** The name that was probably meant. */
  readonly meant: string | undefined;
  /** Another server may have it, which did not answer. */
  readonly isUnknown: boolean;
}

export interface SelectedClusters {
  readonly found: readonly LocatedCluster[];
  readonly missing: readonly MissingCluster[];
  readonly failed: readonly NamedServer[];
}

/** Finds the named clusters, or reads all. A name that several servers have is found once at each. */
export async function selectClusters(
  context: Context,
  servers: readonly NamedServer[],
  references: readonly ClusterReference[],
  read: Reading,
): Promise<SelectedClusters> {
  if (references.length === 0) {
    const { answers, failed } = await askAll(context, servers, ({ client }) => read.all(client));
    const found = answers.flatMap(({ server, value }) => value.map((cluster) => ({ server, cluster })));
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

/** The selected clusters of one server. */
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

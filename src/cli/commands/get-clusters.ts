import { fieldSelectorFor } from '../../api/field-selector-text.ts';
import type { TableColumn } from '../../api/kind.ts';
import { clusterColumns } from '../../api/kinds/cluster-columns.ts';
import type { Cluster, ClusterSelection, ListOptions } from '../../client/types.ts';
import { type ClusterReference, clusterLabel, clusterReferences } from '../cluster-references.ts';
import { checkedNames, getCluster, withConfirmedEndpoints } from '../clusters.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { askAll, connectAll, type NamedServer } from '../connection/all-servers.ts';
import { describeError } from '../describe-error.ts';
import { type FoundClusters, findClusters } from '../find-clusters.ts';
import { localAddressTo } from '../kubeconfig/local-address.ts';
import { asList, type Printer, printerFor } from '../output/printer.ts';
import { cellsOf, renderTable, widthsOf } from '../output/table.ts';

/** On clusters in output about several servers: the address of the server that has the cluster. */
const SERVER_ANNOTATION = 'clusterpass.dev/server';

/** `get clusters`, with kubectl's flags and output formats. Without `--server`, of all servers with a login. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation);
  const labelSelector = invocation.text('selector');
  const fieldSelector = invocation.text('fieldSelector');
  const watching = invocation.is('watch');
  if (invocation.args.length > 0 && (labelSelector !== undefined || fieldSelector !== undefined)) {
    throw new CliError('selectors cannot be combined with names');
  }
  const servers = await connectAll(context, invocation);
  const references = clusterReferences(invocation.args, servers);
  if (references.length > 1 && watching) throw new CliError('only one name can be watched');
  const [first] = references;
  const selection: ClusterSelection = {
    view: 'full',
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...(first === undefined ? {} : { fieldSelector: fieldSelectorFor('metadata.name', first.name) }),
  };
  const table = tableFor(context, invocation, servers, await localAddresses(invocation, servers));
  if (watching) return watch(context, { servers, selection, print, table, reference: first });
  const { items, problems, hints, failed } =
    references.length > 0 ? await getEach(context, servers, references) : await listAll(context, servers, selection);
  if (references.length === 1 && problems.length > 0) {
    report(context, problems, hints);
    return 1;
  }
  if (failed.length === servers.length) return 1;
  if (print !== undefined) {
    const printed = items.map(table.printed);
    context.out.write(print(references.length === 1 && printed.length === 1 ? printed[0] : asList(printed)));
  } else if (items.length === 0) {
    if (problems.length === 0) context.err.write('No resources found\n');
  } else {
    context.out.write(renderTable([...table.headers, ...items.map(table.row)]));
  }
  report(context, problems, hints);
  return problems.length > 0 || failed.length > 0 ? 1 : 0;
};

function report({ err }: Context, problems: readonly unknown[], hints: readonly string[]): void {
  for (const line of [...problems.map(describeError), ...hints]) err.write(`${line}\n`);
}

interface Found extends Omit<FoundClusters, 'found'> {
  readonly items: readonly Cluster[];
}

async function listAll(context: Context, servers: readonly NamedServer[], options: ListOptions): Promise<Found> {
  const { answers, failed } = await askAll(context, servers, async ({ client }) =>
    checkedNames((await client.listClusters(options)).items),
  );
  const items = answers.flatMap(({ server, value }) => value.map((item) => located(servers, server, item)));
  return { items, problems: [], hints: [], failed };
}

async function getEach(
  context: Context,
  servers: readonly NamedServer[],
  references: readonly ClusterReference[],
): Promise<Found> {
  const { found, ...rest } = await findClusters(context, servers, references);
  return { items: found.map(({ server, cluster }) => located(servers, server, cluster)), ...rest };
}

/** A cluster of the output, with its confirmed endpoints, and with its server if there are several. */
function located(servers: readonly NamedServer[], { client, connection }: NamedServer, cluster: Cluster): Cluster {
  const confirmed = withConfirmedEndpoints(cluster, client.productName);
  if (servers.length === 1) return confirmed;
  const annotations = { ...confirmed.metadata.annotations, [SERVER_ANNOTATION]: connection.server };
  return { ...confirmed, metadata: { ...confirmed.metadata, annotations } };
}

interface WatchSettings {
  readonly servers: readonly NamedServer[];
  readonly selection: ClusterSelection;
  readonly print: Printer | undefined;
  readonly table: ClusterTable;
  readonly reference: ClusterReference | undefined;
}

async function watch(
  context: Context,
  { servers, selection, print, table, reference }: WatchSettings,
): Promise<number> {
  const asked = servers.filter((server) => reference?.server === undefined || reference.server === server);
  const { answers, failed } = await askAll(context, asked, async ({ client }) => {
    const list = await client.listClusters(selection);
    checkedNames(list.items);
    return list;
  });
  const [first] = answers;
  if (first === undefined) return 1;
  const initial = answers.flatMap(({ server, value }) => value.items.map((item) => located(servers, server, item)));
  // Reports a name that does not exist or is not visible. Without this request, the watch would print nothing.
  if (reference !== undefined && initial.length === 0) await getCluster(first.server.client, reference.name);
  const { headers, row } = table;
  const widths = widthsOf([...headers, ...initial.map(row)]);
  let head = headers;
  const show = (clusters: readonly Cluster[]): void => {
    if (print !== undefined) for (const cluster of clusters) context.out.write(print(table.printed(cluster)));
    else context.out.write(renderTable([...head, ...clusters.map(row)], widths));
    head = [];
  };
  if (initial.length > 0) show(initial);
  const watched = answers.map(({ server }) => server);
  const ended = await askAll(context, watched, async (server) => {
    const from = answers.find((answer) => answer.server === server)?.value;
    const options = from === undefined ? selection : { ...selection, from };
    for await (const { cluster } of server.client.watchClusters(options)) {
      show(checkedNames([cluster]).map((item) => located(servers, server, item)));
    }
  });
  return failed.length + ended.failed.length > 0 ? 1 : 0;
}

interface ClusterTable {
  /** One row, or none with `--no-headers`. */
  readonly headers: readonly string[][];
  readonly row: (cluster: Cluster) => string[];
  /** The cluster for `-o`. With `-o name`, it has the name that other commands accept. */
  readonly printed: (cluster: Cluster) => Cluster;
}

const isWide = (invocation: Invocation): boolean => invocation.text('output') === 'wide';

/** Only the wide table shows addresses of clusters: those that kubeconfigs of this machine have. */
async function localAddresses(
  invocation: Invocation,
  servers: readonly NamedServer[],
): Promise<ReadonlyMap<NamedServer, string | undefined>> {
  if (!isWide(invocation)) return new Map();
  return new Map(
    await Promise.all(servers.map(async (server) => [server, await localAddressTo(server.connection.server)] as const)),
  );
}

/** The server if there are several, then the columns of the server's tables. */
function tableFor(
  context: Context,
  invocation: Invocation,
  servers: readonly NamedServer[],
  localAddressOf: ReadonlyMap<NamedServer, string | undefined>,
): ClusterTable {
  const columnsOf = (server: NamedServer): TableColumn[] =>
    clusterColumns(server.client.productName, localAddressOf.get(server)).filter(
      ({ priority }) => isWide(invocation) || priority === 0,
    );
  const [only] = servers;
  if (only === undefined) throw new Error('there is at least one server');
  const isSeveral = servers.length > 1;
  const byAddress = new Map(
    servers.map((server) => [server.connection.server, { server, columns: columnsOf(server) }]),
  );
  const fallback = { server: only, columns: columnsOf(only) };
  const tableOf = ({ metadata: { annotations = {} } }: Cluster): typeof fallback =>
    (isSeveral ? byAddress.get(annotations[SERVER_ANNOTATION] ?? '') : undefined) ?? fallback;
  const names = [...(isSeveral ? ['SERVER'] : []), ...fallback.columns.map(({ name }) => name.toUpperCase())];
  return {
    headers: invocation.isOff('headers') ? [] : [names],
    row: (cluster) => {
      const { server, columns } = tableOf(cluster);
      return [...(isSeveral ? [server.name] : []), ...cellsOf(columns, cluster, context.now())];
    },
    printed: (cluster) => {
      if (invocation.text('output') !== 'name') return cluster;
      const name = clusterLabel(servers, tableOf(cluster).server, cluster.metadata.name);
      return { ...cluster, metadata: { ...cluster.metadata, name } };
    },
  };
}

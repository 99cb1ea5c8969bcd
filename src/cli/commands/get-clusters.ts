import { clusterColumns } from '../../api/kinds/cluster-columns.ts';
import type { Client } from '../../client/create-client.ts';
import type { Cluster, ClusterSelection } from '../../client/types.ts';
import { clusterNames, fieldSelectorFor, getCluster, withConfirmedEndpoints } from '../clusters.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError, isObjectError } from '../describe-error.ts';
import { asList, type Printer, printerFor } from '../output/printer.ts';
import { sorterFor } from '../output/sort-by.ts';
import { cellsOf, renderTable, widthsOf } from '../output/table.ts';
import { terminalSafe } from '../output/terminal-safe.ts';

/** `get clusters`, with kubectl's flags and output formats. */
export const run: Run = async (context, invocation) => {
  const names = clusterNames(invocation.args);
  const print = await printerFor(invocation.text('output'));
  const labelSelector = invocation.text('selector');
  const fieldSelector = invocation.text('fieldSelector');
  const watching = invocation.is('watch') || invocation.is('watchOnly');
  const sortBy = invocation.text('sortBy');
  const sorted = sortBy === undefined ? (list: readonly Cluster[]) => list : sorterFor<Cluster>(sortBy);
  if (watching && sortBy !== undefined) {
    context.err.write('warning: --watch or --watch-only requested, --sort-by will be ignored\n');
  }
  if (names.length > 0 && (labelSelector !== undefined || fieldSelector !== undefined)) {
    throw new CliError('selectors cannot be combined with names');
  }
  if (names.length > 1 && watching) throw new CliError('only one name can be watched');
  const client = await connect(context, invocation);
  const selection: ClusterSelection = {
    view: 'full',
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...(names.length === 1 ? { fieldSelector: fieldSelectorFor('metadata.name', names[0] ?? '') } : {}),
  };
  if (watching) return watch(context, invocation, client, { selection, print, name: names[0] });
  const limit = invocation.number('chunkSize', '--chunk-size') ?? 500;
  const { items, problems } =
    names.length > 0
      ? await getEach(client, names)
      : { items: (await client.listClusters({ ...selection, limit })).items, problems: [] };
  const one = names.length === 1;
  if (one && problems[0] !== undefined) throw problems[0];
  const clusters = sorted(items.map((cluster) => withConfirmedEndpoints(cluster, client.productName)));
  if (print !== undefined) {
    context.out.write(print(one ? clusters[0] : asList(clusters)));
  } else if (clusters.length === 0) {
    if (problems.length === 0) context.err.write('No resources found\n');
  } else {
    const { headers, row } = tableFor(context, invocation, client);
    context.out.write(renderTable([...headers, ...clusters.map(row)]));
  }
  for (const problem of problems) context.err.write(`${describeError(problem)}\n`);
  return problems.length > 0 ? 1 : 0;
};

/** The clusters that could be read, and the errors of the others. */
async function getEach(
  client: Client,
  names: readonly string[],
): Promise<{ readonly items: readonly Cluster[]; readonly problems: readonly unknown[] }> {
  const results = await Promise.allSettled(names.map((name) => getCluster(client, name)));
  const items = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const problems = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const fatal = problems.find((problem) => !isObjectError(problem));
  if (fatal !== undefined) throw fatal;
  return { items, problems };
}

interface WatchSettings {
  readonly selection: ClusterSelection;
  readonly print: Printer | undefined;
  readonly name: string | undefined;
}

async function watch(
  context: Context,
  invocation: Invocation,
  client: Client,
  { selection, print, name }: WatchSettings,
): Promise<number> {
  const from = await client.listClusters(selection);
  // Reports a name that does not exist or is not visible. Without this request, the watch would print nothing.
  if (name !== undefined && from.items.length === 0) await getCluster(client, name);
  const { headers, row } = tableFor(context, invocation, client);
  const widths = widthsOf([...headers, ...from.items.map(row)]);
  let head = headers;
  const show = (found: readonly Cluster[]): void => {
    const clusters = found.map((cluster) => withConfirmedEndpoints(cluster, client.productName));
    if (print !== undefined) for (const cluster of clusters) context.out.write(print(cluster));
    else context.out.write(renderTable([...head, ...clusters.map(row)], widths));
    head = [];
  };
  if (!invocation.is('watchOnly') && from.items.length > 0) show(from.items);
  for await (const { cluster } of client.watchClusters({ ...selection, from })) show([cluster]);
  return 0;
}

interface ClusterTable {
  /** One row, or none with `--no-headers`. */
  readonly headers: readonly string[][];
  row(cluster: Cluster): string[];
}

/** The columns of the server's own tables, then those of `-L` and `--show-labels`. */
function tableFor(context: Context, invocation: Invocation, { productName }: Client): ClusterTable {
  const isWide = invocation.text('output') === 'wide';
  const withLabels = invocation.is('showLabels');
  const labelColumns = invocation.list('labelColumns').flatMap((text) => text.split(',').filter((key) => key !== ''));
  const columns = clusterColumns(productName).filter(({ priority }) => isWide || priority === 0);
  const names = [
    ...columns.map(({ name }) => name.toUpperCase()),
    ...labelColumns.map((key) => terminalSafe((key.split('/').at(-1) ?? '').toUpperCase())),
    ...(withLabels ? ['LABELS'] : []),
  ];
  return {
    headers: invocation.isOff('headers') ? [] : [names],
    row: (cluster) => {
      const { labels = {} } = cluster.metadata;
      const values = labelColumns.map((key) => (Object.hasOwn(labels, key) ? terminalSafe(labels[key] ?? '') : ''));
      return [...cellsOf(columns, cluster, context.now()), ...values, ...(withLabels ? [labelsOf(cluster)] : [])];
    },
  };
}

function labelsOf({ metadata: { labels = {} } }: Cluster): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return terminalSafe(pairs.sort().join(',')) || '<none>';
}

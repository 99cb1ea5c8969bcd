import type { Client } from '../../client/create-client.ts';
import { FULL_CLUSTERS } from '../../client/list-clusters.ts';
import type { Cluster, ClusterList, ClusterSelection } from '../../client/types.ts';
import { type ClusterTable, clusterTable } from '../cluster-table.ts';
import { clusterNames } from '../clusters.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError, isAboutOne } from '../describe-error.ts';
import { asList, type Printer, printerFor } from '../output/printer.ts';
import { sorterFor } from '../output/sort-by.ts';
import { renderTable, widthsOf } from '../output/table.ts';

/** `get clusters`, with the flags and the forms of kubectl. */
export const run: Run = async (context, invocation) => {
  const names = clusterNames(invocation.args);
  const print = await printerFor(invocation.text('output'));
  const labelSelector = invocation.text('selector');
  const fieldSelector = invocation.text('fieldSelector');
  const watching = invocation.is('watch') || invocation.is('watchOnly');
  const order = invocation.text('sortBy');
  const sorted = order === undefined ? (list: readonly Cluster[]) => list : sorterFor<Cluster>(order);
  if (watching && order !== undefined) {
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
    ...(names.length === 1 ? { fieldSelector: `metadata.name=${escaped(names[0] ?? '')}` } : {}),
  };
  if (watching) return watch(context, invocation, client, { selection, print, name: names[0] });
  const one = names.length === 1;
  const { items: found, problems } =
    names.length > 0
      ? await getEach(client, names)
      : {
          items: (
            await client.listClusters({ ...selection, limit: invocation.number('chunkSize', '--chunk-size') ?? 500 })
          ).items,
          problems: [],
        };
  if (one && problems[0] !== undefined) throw problems[0];
  const items = sorted(found);
  if (print !== undefined) {
    context.out.write(print(one ? items[0] : asList(items)));
  } else if (items.length === 0) {
    if (problems.length === 0) context.err.write('No resources found\n');
  } else {
    const { headers, row } = tableFor(context, invocation, client);
    context.out.write(renderTable([...headers, ...items.map(row)]));
  }
  for (const problem of problems) context.err.write(`${describeError(problem)}\n`);
  return problems.length > 0 ? 1 : 0;
};

/** Those that there are, and for each of the others why not. */
async function getEach(
  client: Client,
  names: readonly string[],
): Promise<{ readonly items: readonly Cluster[]; readonly problems: readonly unknown[] }> {
  const found = await Promise.allSettled(names.map((name) => getCluster(client, name)));
  const items = found.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const problems = found.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const fatal = problems.find((problem) => !isAboutOne(problem));
  if (fatal !== undefined) throw fatal;
  return { items, problems };
}

export async function getCluster(client: Client, name: string): Promise<Cluster> {
  if (name === '' || name === '.' || name === '..') throw new CliError('the name of a cluster must not be empty');
  return (await client.request<Cluster>('GET', `${FULL_CLUSTERS}/${encodeURIComponent(name)}`)).value;
}

/** L-40: in a field selector these mean something. */
const escaped = (value: string): string => value.replaceAll(/[\\,=]/g, (sign) => `\\${sign}`);

interface WatchPlan {
  readonly selection: ClusterSelection;
  readonly print: Printer | undefined;
  readonly name: string | undefined;
}

async function watch(
  context: Context,
  invocation: Invocation,
  client: Client,
  { selection, print, name }: WatchPlan,
): Promise<number> {
  const from: ClusterList = await client.listClusters(selection);
  // A name that does not exist, or that is not for this caller, is an error and not a long silence.
  if (name !== undefined && from.items.length === 0) await getCluster(client, name);
  const { headers, row } = tableFor(context, invocation, client);
  const widths = widthsOf([...headers, ...from.items.map(row)]);
  let head = headers;
  const show = (clusters: readonly Cluster[]): void => {
    if (print !== undefined) for (const cluster of clusters) context.out.write(print(cluster));
    else context.out.write(renderTable([...head, ...clusters.map(row)], widths));
    head = [];
  };
  if (!invocation.is('watchOnly') && from.items.length > 0) show(from.items);
  for await (const { cluster } of client.watchClusters({ ...selection, from })) show([cluster]);
  return 0;
}

const tableFor = (context: Context, invocation: Invocation, { productName }: Client): ClusterTable =>
  clusterTable({
    productName,
    wide: invocation.text('output') === 'wide',
    withHeaders: !invocation.isOff('headers'),
    withLabels: invocation.is('showLabels'),
    labelColumns: invocation.list('labelColumns').flatMap((text) => text.split(',').filter((key) => key !== '')),
    now: context.now,
  });

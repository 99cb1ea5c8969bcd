import { clusterColumns } from '../../api/kinds/cluster-columns.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { fieldSelectorFor } from '../../api/selectors.ts';
import { reviewAccess } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import type { Cluster, ClusterSelection } from '../../client/types.ts';
import { clip, terminalSafe } from '../../lib/text.ts';
import { checkedNames, getCluster, withConfirmedEndpoints } from '../clusters.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { askAll, connectAll, type NamedServer } from '../connection/all-servers.ts';
import { CONSOLE_SETTINGS } from '../connection/connection.ts';
import { localAddressTo } from '../kubeconfig/cluster-endpoint.ts';
import { asList, cellsOf, type Printer, printerFor, printTable, renderTable, widthsOf } from '../output/printer.ts';
import {
  type ClusterReference,
  clusterChoice,
  clusterLabel,
  clusterReferences,
  fullClusters,
  type LocatedCluster,
  missingLines,
  selectClusters,
  selectedClusters,
} from '../select-clusters.ts';
import { usableSubjects } from '../service-account.ts';

/** On clusters in output about several servers: the address of the server that has the cluster. */
const SERVER_ANNOTATION = 'clusterpass.dev/server';

/** `get clusters`, with kubectl's flags and output formats. Without `--server`, of all servers with a login. */
export const getClusters: Run = async (context, invocation) => {
  const labelSelector = invocation.text('selector');
  const fieldSelector = invocation.text('fieldSelector');
  const watching = invocation.is('watch');
  if (invocation.args.length > 0 && (labelSelector !== undefined || fieldSelector !== undefined)) {
    throw new CliError('selectors cannot be combined with names');
  }
  const print = await printerFor(invocation);
  const servers = await connectAll(context, invocation);
  const references = clusterReferences(invocation.args, servers);
  if (references.length > 1 && watching) throw new CliError('only one name can be watched');
  const [first] = references;
  const byName = first && fieldSelectorFor('metadata.name', first.name);
  const selection: ClusterSelection = { view: 'full', labelSelector, fieldSelector: fieldSelector ?? byName };
  const table = await tableFor(context, invocation, servers);
  if (watching) return watch(context, { servers, selection, print, table, reference: first });
  const { found, missing, failed } = await selectClusters(context, servers, references, fullClusters(selection));
  const report = (): void => {
    for (const line of missingLines(missing)) context.err.write(`${line}\n`);
  };
  if (references.length === 1 && found.length === 0) {
    report();
    return 1;
  }
  if (failed.length === servers.length) return 1;
  if (print !== undefined) {
    const printed = found.map(table.printed);
    context.out.write(print(references.length === 1 && printed.length === 1 ? printed[0] : asList(printed)));
  } else if (found.length === 0) {
    if (missing.length === 0) {
      const isFiltered = [labelSelector, fieldSelector, first].some((part) => part !== undefined);
      const offers = isFiltered ? [] : await Promise.all(servers.map(({ client }) => nextStep(client)));
      context.err.write(['No resources found', ...offers.flat(), ''].join('\n'));
    }
  } else {
    context.out.write(renderTable([...table.headers, ...found.map(table.row)]));
  }
  report();
  return missing.length + failed.length > 0 ? 1 : 0;
};

/** For a caller who sees no cluster: how to register one, or what the operator says and how to ask. */
async function nextStep(client: Client): Promise<string[]> {
  // The answer matters without it.
  const creating = (group: string, resource: string) =>
    reviewAccess(client, undefined, { resourceAttributes: { verb: 'create', group, resource } }).catch(() => undefined);
  const [settings, registering, asking] = await Promise.all([
    client.request<{ helpText?: unknown }>('GET', CONSOLE_SETTINGS).catch(() => undefined),
    creating(CLUSTER_GROUP, 'clusters'),
    creating('clusterpass.dev', 'accessrequests'),
  ]);
  if (registering?.allowed) return ['Register one: clusterpass register NAME --context CONTEXT'];
  const helpText = settings?.value.helpText;
  return [
    ...(typeof helpText === 'string' ? [terminalSafe(clip(helpText))] : []),
    ...(asking?.allowed ? ["Ask for access: clusterpass request create --cluster CLUSTER --reason '...'"] : []),
  ];
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
  const initial = answers.flatMap(({ server, value }) => value.items.map((cluster) => ({ server, cluster })));
  // Reports a name that does not exist or is not visible. Without this request, the watch would print nothing.
  if (reference !== undefined && initial.length === 0) await getCluster(first.server.client, reference.name);
  const { headers, row } = table;
  const widths = widthsOf([...headers, ...initial.map(row)]);
  let head = headers;
  const show = (clusters: readonly LocatedCluster[]): void => {
    if (print !== undefined) for (const cluster of clusters) context.out.write(print(table.printed(cluster)));
    else context.out.write(renderTable([...head, ...clusters.map(row)], widths));
    head = [];
  };
  if (initial.length > 0) show(initial);
  const watched = answers.map(({ server }) => server);
  const ended = await askAll(context, watched, async (server) => {
    const from = answers.find((answer) => answer.server === server)?.value;
    for await (const { cluster } of server.client.watchClusters({ ...selection, from })) {
      checkedNames([cluster]);
      show([{ server, cluster }]);
    }
  });
  return failed.length + ended.failed.length > 0 ? 1 : 0;
}

interface ClusterTable {
  /** One row, or none with `--no-headers`. */
  readonly headers: readonly string[][];
  readonly row: (found: LocatedCluster) => string[];
  /** The cluster for `-o`: with its server if there are several, and for `-o name` as other commands accept it. */
  readonly printed: (found: LocatedCluster) => Cluster;
}

/** The server if there are several, then the columns of the server's tables. */
async function tableFor(
  { now }: Context,
  invocation: Invocation,
  servers: readonly NamedServer[],
): Promise<ClusterTable> {
  const output = invocation.text('output');
  const isSeveral = servers.length > 1;
  const columns = new Map(
    await Promise.all(
      servers.map(async (server) => {
        // Only the wide table shows addresses of clusters: those that kubeconfigs of this machine have.
        const address = output === 'wide' ? await localAddressTo(server.connection.server) : undefined;
        const all = clusterColumns(server.client.productName, address);
        return [server, all.filter(({ priority }) => output === 'wide' || priority === 0)] as const;
      }),
    ),
  );
  const [first = []] = columns.values();
  const names = [...(isSeveral ? ['SERVER'] : []), ...first.map(({ name }) => name.toUpperCase())];
  const confirmed = ({ server, cluster }: LocatedCluster): Cluster =>
    withConfirmedEndpoints(cluster, server.client.productName);
  return {
    headers: invocation.isOff('headers') ? [] : [names],
    row: (found) => [
      ...(isSeveral ? [found.server.name] : []),
      ...cellsOf(columns.get(found.server) ?? [], confirmed(found), now()),
    ],
    printed: (found) => {
      const { server } = found;
      const { metadata, ...cluster } = confirmed(found);
      const name = output === 'name' ? clusterLabel(servers, server, metadata.name) : metadata.name;
      const annotations = { ...metadata.annotations, [SERVER_ANNOTATION]: server.connection.server };
      return { ...cluster, metadata: { ...metadata, name, ...(isSeveral ? { annotations } : {}) } };
    },
  };
}

/** Lists the accounts of which the caller gets passes now, in each cluster that is selected. */
export const getAccounts: Run = async (context, invocation) => {
  const servers = await connectAll(context, invocation);
  const { parts, isWhole } = await selectedClusters(context, servers, clusterChoice(invocation, servers));
  const found = await Promise.all(
    parts.map(async ({ server, clusters }) => {
      const names = clusters.map(({ metadata }) => metadata.name);
      const usable = await usableSubjects(server.client, names);
      return usable.map((each, at) => ({ ...each, cluster: clusterLabel(servers, server, names[at] ?? '') }));
    }),
  );
  const items = found.flat().flatMap(({ cluster, subjects }) => subjects.map((account) => ({ cluster, account })));
  await printTable(
    context,
    invocation,
    { items },
    {
      head: ['CLUSTER', 'ACCOUNT'],
      rows: items.map(({ cluster, account }) => [cluster, account]),
      none: 'No accounts found: clusterpass request create asks for access',
    },
  );
  for (const { cluster } of found.flat().filter(({ incomplete }) => incomplete)) {
    context.err.write(`Warning: ${terminalSafe(cluster)} has more accounts than are listed\n`);
  }
  return isWhole ? 0 : 1;
};

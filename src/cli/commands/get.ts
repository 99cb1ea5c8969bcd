import { clusterColumns } from '../../api/kinds/cluster-columns.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { reviewAccess } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import type { Cluster, ClusterSelection } from '../../client/types.ts';
import { clip, terminalSafe } from '../../lib/text.ts';
import { checkedNames, withConfirmedEndpoints } from '../clusters.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { askAll, connectAll, type NamedServer } from '../connection/all-servers.ts';
import { CONSOLE_SETTINGS } from '../connection/connection.ts';
import { localAddressTo } from '../kubeconfig/cluster-endpoint.ts';
import { asList, cellsOf, printerFor, printTable, renderTable, widthsOf } from '../output/printer.ts';
import {
  clusterChoice,
  clusterLabel,
  clusterReferences,
  findClusters,
  fullClusters,
  type LocatedCluster,
} from '../select-clusters.ts';
import { usableSubjects } from '../service-account.ts';

/** On clusters in output about several servers: the address of the server that has the cluster. */
const SERVER_ANNOTATION = 'clusterpass.dev/server';

/** `get clusters`, with kubectl's flags and output formats. Without `--server`, of all servers with a login. */
export const getClusters: Run = async (context, invocation) => {
  const labelSelector = invocation.text('selector');
  const fieldSelector = invocation.text('fieldSelector');
  if (invocation.args.length > 0 && (labelSelector !== undefined || fieldSelector !== undefined)) {
    throw new CliError('selectors cannot be combined with names');
  }
  const print = await printerFor(invocation);
  const servers = await connectAll(context, invocation);
  const references = clusterReferences(invocation.args, servers);
  if (invocation.is('watch')) {
    if (references.length > 0) throw new CliError('--watch takes selectors, e.g. --field-selector metadata.name=NAME');
    return watch(context, invocation, servers, { view: 'full', labelSelector, fieldSelector });
  }
  const read = fullClusters({ labelSelector, fieldSelector });
  const { found, isWhole } = await findClusters(context, servers, { references }, read);
  if (found.length === 0 && !isWhole) return 1;
  if (print !== undefined) {
    const printed = found.map((each) => printedCluster(invocation, each));
    context.out.write(print(references.length === 1 && printed.length === 1 ? printed[0] : asList(printed)));
  } else if (found.length === 0) {
    const isFiltered = [labelSelector, fieldSelector].some((part) => part !== undefined);
    const offers = isFiltered ? [] : await Promise.all(servers.map(({ client }) => nextStep(client)));
    context.err.write(['No resources found', ...offers.flat(), ''].join('\n'));
  } else {
    const { head, row } = await tableFor(context, invocation, servers);
    context.out.write(renderTable([...head, ...found.map(row)]));
  }
  return isWhole ? 0 : 1;
};

/** The clusters, then each one that changes. */
async function watch(
  context: Context,
  invocation: Invocation,
  servers: readonly NamedServer[],
  selection: ClusterSelection,
): Promise<number> {
  const { answers, failed } = await askAll(context, servers, ({ client }) => client.listClusters(selection));
  const first = answers.flatMap(({ server, value }) => value.items.map((cluster) => ({ server, cluster })));
  const print = await printerFor(invocation);
  const { head, row } = await tableFor(context, invocation, servers);
  const widths = widthsOf([...head, ...first.map(row)]);
  const show = (clusters: readonly LocatedCluster[], before: readonly string[][] = []): void => {
    checkedNames(clusters.map(({ cluster }) => cluster));
    const printed = clusters.map((each) => print?.(printedCluster(invocation, each)));
    context.out.write(print ? printed.join('') : renderTable([...before, ...clusters.map(row)], widths));
  };
  show(first, head);
  const ended = await askAll(
    context,
    answers.map(({ server }) => server),
    async (server) => {
      const from = answers.find((answer) => answer.server === server)?.value;
      for await (const { cluster } of server.client.watchClusters({ ...selection, from })) show([{ server, cluster }]);
    },
  );
  return failed.length + ended.failed.length > 0 ? 1 : 0;
}

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

const confirmed = ({ server, cluster }: LocatedCluster): Cluster =>
  withConfirmedEndpoints(cluster, server.client.productName);

/** The cluster for `-o`: with its server if there are several, and for `-o name` as other commands accept it. */
function printedCluster(invocation: Invocation, found: LocatedCluster): Cluster {
  const { server } = found;
  const { metadata, ...cluster } = confirmed(found);
  const isName = invocation.text('output') === 'name';
  const name = isName ? clusterLabel(server, metadata.name) : metadata.name;
  const annotations = { ...metadata.annotations, [SERVER_ANNOTATION]: server.connection.server };
  return { ...cluster, metadata: { ...metadata, name, ...(server.isOneOfSeveral ? { annotations } : {}) } };
}

/** The server if there are several, then the columns of the server's tables. */
async function tableFor({ now }: Context, invocation: Invocation, servers: readonly NamedServer[]) {
  const isWide = invocation.text('output') === 'wide';
  const isSeveral = servers.length > 1;
  const columns = new Map(
    await Promise.all(
      servers.map(async (server) => {
        // Only the wide table shows addresses of clusters: those that kubeconfigs of this machine have.
        const address = isWide ? await localAddressTo(server.connection.server) : undefined;
        const all = clusterColumns(server.client.productName, address);
        return [server, all.filter(({ priority }) => isWide || priority === 0)] as const;
      }),
    ),
  );
  const [first = []] = columns.values();
  const names = [...(isSeveral ? ['SERVER'] : []), ...first.map(({ name }) => name.toUpperCase())];
  return {
    /** One row, or none with `--no-headers`. */
    head: invocation.isOff('headers') ? [] : [names],
    row: (found: LocatedCluster) => [
      ...(isSeveral ? [found.server.name] : []),
      ...cellsOf(columns.get(found.server) ?? [], confirmed(found), now()),
    ],
  };
}

/** Lists the accounts of which the caller gets passes now, in each cluster that is selected. */
export const getAccounts: Run = async (context, invocation) => {
  const servers = await connectAll(context, invocation);
  const { found, isWhole } = await findClusters(context, servers, clusterChoice(invocation, servers));
  const usable = await Promise.all(
    [...Map.groupBy(found, ({ server }) => server)].map(async ([server, clusters]) => {
      const names = clusters.map(({ cluster }) => cluster.metadata.name);
      const subjects = await usableSubjects(server.client, names);
      return subjects.map((each, at) => ({ ...each, cluster: clusterLabel(server, names[at] ?? '') }));
    }),
  );
  const items = usable.flat().flatMap(({ cluster, subjects }) => subjects.map((account) => ({ cluster, account })));
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
  for (const { cluster } of usable.flat().filter(({ incomplete }) => incomplete)) {
    context.err.write(`Warning: ${terminalSafe(cluster)} has more accounts than are listed\n`);
  }
  return isWhole ? 0 : 1;
};

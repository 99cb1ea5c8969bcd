import { terminalSafe } from '../../lib/text.ts';
import type { Run } from '../command.ts';
import { connectAll } from '../connection/all-servers.ts';
import { printTable } from '../output/printer.ts';
import { clusterChoice, clusterLabel, selectedClusters } from '../select-clusters.ts';
import { usableSubjects } from '../service-account.ts';

/** Lists the accounts of which the caller gets passes now, in each cluster that is selected. */
export const run: Run = async (context, invocation) => {
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

import { terminalSafe } from '../../lib/text.ts';
import { clusterLabel } from '../cluster-references.ts';
import type { Run } from '../command.ts';
import { connectAll } from '../connection/all-servers.ts';
import { printerFor } from '../output/printer.ts';
import { renderTable } from '../output/table.ts';
import { clusterChoice, selectedClusters } from '../selected-clusters.ts';
import { usableSubjects } from '../usable-subjects.ts';

/** Lists the accounts of which the caller gets passes now, in each cluster that is selected. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation);
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
  if (print !== undefined) context.out.write(print({ items }));
  else if (items.length === 0) context.err.write('No accounts found: clusterpass request create asks for access\n');
  else {
    const rows = items.map(({ cluster, account }) => [cluster, account].map(terminalSafe));
    context.out.write(renderTable([...(invocation.isOff('headers') ? [] : [['CLUSTER', 'ACCOUNT']]), ...rows]));
  }
  for (const { cluster } of found.flat().filter(({ incomplete }) => incomplete)) {
    context.err.write(`Warning: ${terminalSafe(cluster)} has more accounts than are listed\n`);
  }
  return isWhole ? 0 : 1;
};

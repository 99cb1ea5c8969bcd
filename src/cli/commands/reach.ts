import { AUTHENTICATED } from '../../api/caller.ts';
import { reviewReach } from '../../client/access-reviews.ts';
import { terminalSafe } from '../../lib/text.ts';
import type { Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { GRANT_HEADERS, grantCells } from '../grant-rows.ts';
import { printerFor } from '../output/printer.ts';
import { renderTable } from '../output/table.ts';

/** Lists what a user reaches: clusters, then passes for itself and the accounts in each. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'yaml']);
  const user = invocation.args[0] ?? '';
  const groups = [...new Set([...invocation.list('group'), AUTHENTICATED])];
  const client = await connect(context, invocation);
  const clusters = await reviewReach(client, invocation.text('cluster'), { user, groups });
  if (print !== undefined) {
    context.out.write(print({ user, groups, clusters }));
    return 0;
  }
  if (clusters.length === 0) {
    context.err.write('No clusters found.\n');
    return 0;
  }
  const headers = invocation.isOff('headers') ? [] : [['CLUSTER', 'REACHES', ...GRANT_HEADERS]];
  const rows = clusters.flatMap((cluster) => {
    const name = terminalSafe(cluster.name);
    return [
      ...(cluster.visible ? [[name, 'cluster', ...grantCells(cluster)]] : []),
      ...(cluster.userpass === undefined ? [] : [[name, 'userpass', ...grantCells(cluster.userpass)]]),
      ...cluster.accounts.map((account) => [
        name,
        terminalSafe(`${account.namespace}/${account.name}`),
        ...grantCells(account),
      ]),
    ];
  });
  context.out.write(renderTable([...headers, ...rows]));
  return 0;
};

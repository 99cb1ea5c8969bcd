import { reviewSelf } from '../../client/access-reviews.ts';
import { terminalSafe } from '../../lib/text.ts';
import type { Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { printerFor } from '../output/printer.ts';
import { renderTable } from '../output/table.ts';

/** Prints the table of `kubectl auth whoami`. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'jsonpath', 'yaml']);
  const review = await reviewSelf(await connect(context, invocation), invocation.text('cluster'));
  if (print !== undefined) {
    context.out.write(print(review));
    return undefined;
  }
  const { username = '', uid = '', groups = [], extra = {} } = review.status?.userInfo ?? {};
  const rows = [['ATTRIBUTE', 'VALUE']];
  if (username !== '') rows.push(['Username', username]);
  if (uid !== '') rows.push(['UID', uid]);
  if (groups.length > 0) rows.push(['Groups', `[${groups.join(' ')}]`]);
  for (const [key, values] of Object.entries(extra)) rows.push([`Extra: ${key}`, `[${values.join(' ')}]`]);
  context.out.write(renderTable(rows.map((row) => row.map(terminalSafe))));
  return undefined;
};

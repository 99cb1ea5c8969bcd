import { humanAge } from '../../api/codec/go-text/human-duration.ts';
import { issuedTokenKind } from '../../api/kinds/issued-token.ts';
import type { TrackedToken } from '../../client/types.ts';
import type { Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { asList, printerFor } from '../output/printer.ts';
import { renderTable } from '../output/table.ts';
import { printable } from '../output/terminal-safe.ts';

/** The tokens that are out and tracked, with the columns of the server's own tables. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['custom-columns', 'json', 'jsonpath', 'name', 'yaml']);
  const cluster = invocation.text('cluster');
  const fieldSelector = invocation.text('fieldSelector') ?? (cluster === undefined ? undefined : selectorOf(cluster));
  const client = await connect(context, invocation);
  const tokens = await client.listIssuedTokens(fieldSelector === undefined ? {} : { fieldSelector });
  if (print !== undefined) context.out.write(print(asList(tokens)));
  else if (tokens.length === 0) context.err.write('No resources found\n');
  else {
    const headers = invocation.isOff('headers') ? [] : [COLUMNS.map(({ name }) => name.toUpperCase())];
    context.out.write(renderTable([...headers, ...tokens.map((token) => rowOf(token, context.now()))]));
  }
  return 0;
};

const COLUMNS = issuedTokenKind.columns;

const rowOf = (token: TrackedToken, now: number): string[] =>
  COLUMNS.map((column) => {
    const value = column.cell(token);
    if (column.type === 'date') return humanAge(value, now);
    return value === null || value === '' ? '<none>' : printable(String(value));
  });

/** L-40: in a field selector these mean something. */
const selectorOf = (cluster: string): string => `spec.cluster=${cluster.replaceAll(/[\\,=]/g, (sign) => `\\${sign}`)}`;

import { issuedTokenKind } from '../../api/kinds/issued-token.ts';
import type { Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { asList, printerFor } from '../output/printer.ts';
import { cellsOf, renderTable } from '../output/table.ts';
import { givenTokenSelector } from '../token-selection.ts';

const ONLY_TRACKED = 'Only tracked tokens are listed: others, e.g. those that kubectl uses, have no record.';

export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'jsonpath', 'name', 'yaml']);
  const selectors = [givenTokenSelector(invocation), invocation.text('fieldSelector')];
  const fieldSelector = selectors.filter((each) => each !== undefined && each !== '').join(',') || undefined;
  const client = await connect(context, invocation);
  const tokens = await client.listIssuedTokens(fieldSelector === undefined ? {} : { fieldSelector });
  if (print !== undefined) context.out.write(print(asList(tokens)));
  else if (tokens.length === 0) context.err.write(`No resources found. ${ONLY_TRACKED}\n`);
  else {
    const { columns } = issuedTokenKind;
    const headers = invocation.isOff('headers') ? [] : [columns.map(({ name }) => name.toUpperCase())];
    context.out.write(renderTable([...headers, ...tokens.map((token) => cellsOf(columns, token, context.now()))]));
    context.err.write(`${ONLY_TRACKED}\n`);
  }
  return 0;
};

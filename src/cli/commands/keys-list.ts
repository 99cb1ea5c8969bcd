import { humanAge } from '../../api/codec/go-text/human-duration.ts';
import type { ApiObject } from '../../api/kind.ts';
import { type SigningKeyStatus, signingKeyKind } from '../../api/kinds/signing-key.ts';
import { compareKeyStates } from '../../api/signing-key-order.ts';
import { terminalSafe } from '../../lib/text.ts';
import type { Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { collectionPath } from '../object-path.ts';
import { asList, printerFor } from '../output/printer.ts';
import { renderTable } from '../output/table.ts';

const statusOf = (key: ApiObject): SigningKeyStatus => (key.status ?? {}) as SigningKeyStatus;

/** Lists the keys in the order of their states. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'jsonpath', 'name', 'yaml']);
  const client = await connect(context, invocation);
  const path = collectionPath(client, signingKeyKind);
  const { items } = (await client.request<{ items: ApiObject[] }>('GET', path, { expects: 'list' })).value;
  const keys = items.toSorted((a, b) => compareKeyStates(statusOf(a).state, statusOf(b).state));
  if (print !== undefined) {
    context.out.write(print(asList(keys)));
    return undefined;
  }
  const rows = keys.map((key) => {
    const { state = '', algorithm = '', created, signsFrom = '<not planned>', expires = '<none>' } = statusOf(key);
    const age = humanAge(created ?? null, context.now());
    return [key.metadata.name ?? '', state, algorithm, signsFrom, expires, age].map(terminalSafe);
  });
  context.out.write(renderTable([['NAME', 'STATE', 'ALGORITHM', 'SIGNS FROM', 'EXPIRES', 'AGE'], ...rows]));
  return undefined;
};

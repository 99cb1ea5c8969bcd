import type { ApiObject } from '../api/kind.ts';
import type { ApprovalStatus, RequestUser } from '../api/kinds/approval.ts';
import { terminalSafe } from '../lib/text.ts';
import { type Approvable, approvablePath } from './approvable.ts';
import type { Run } from './command.ts';
import { connect } from './connection/connection.ts';
import { forEach } from './for-each.ts';
import { asList, printerFor } from './output/printer.ts';
import { renderTable } from './output/table.ts';

/** A title with its text. Without a text it is not shown. */
export type Row = readonly [title: string, text: string | undefined];

/** The command that shows the named objects: as they are with `-o`, else as rows. */
export const showApprovable =
  (of: Approvable, rowsOf: (object: ApiObject) => readonly Row[]): Run =>
  async (context, invocation) => {
    const print = await printerFor(invocation.text('output'), ['json', 'yaml']);
    const client = await connect(context, invocation);
    const objects: ApiObject[] = [];
    const code = await forEach(context, of, invocation.args, async (name) => {
      objects.push((await client.request<ApiObject>('GET', approvablePath(of, name), { expects: 'object' })).value);
    });
    const isOne = invocation.args.length === 1;
    if (isOne && code !== 0) return code;
    if (print !== undefined) context.out.write(print(isOne ? objects[0] : asList(objects)));
    else context.out.write(objects.map((object) => render(rowsOf(object))).join('\n'));
    return code;
  };

const render = (rows: readonly Row[]): string =>
  renderTable(rows.flatMap(([title, text]) => (text ? [[terminalSafe(title), terminalSafe(text)]] : [])));

export function person(user: RequestUser | undefined): string | undefined {
  if (user === undefined) return undefined;
  const { username, actors = [] } = user;
  return actors.length === 0 ? username : `${username} (also ${actors.join(', ')})`;
}

export const bindingRow = ({ bindingRef }: Pick<ApprovalStatus, 'bindingRef'>): Row => [
  'Binding:',
  bindingRef && `${bindingRef.kind} ${[bindingRef.namespace, bindingRef.name].filter(Boolean).join('/')}`,
];

export const conditionRows = ({ conditions = [] }: Pick<ApprovalStatus, 'conditions'>): Row[] =>
  conditions.map(({ type, lastTransitionTime, reason = '', message = '' }) => [
    `${type}:`,
    [lastTransitionTime, reason, message].filter((text) => text !== undefined && text !== '').join(', '),
  ]);

import type { ApiObject } from '../api/kind.ts';
import type { AccessRequestStatus, RequestUser } from '../api/kinds/access-request-spec.ts';
import { isStatus } from '../client/errors.ts';
import { type Approvable, approvablePath } from './approvable.ts';
import type { Run } from './command.ts';
import { connect } from './connection/connection.ts';
import { describeError } from './describe-error.ts';
import { asList, printerFor } from './output/printer.ts';
import { renderTable } from './output/table.ts';
import { terminalSafe } from './output/terminal-safe.ts';

/** A title with its text. Without a text it is not shown. */
export type Row = readonly [title: string, text: string | undefined];

/**
 * The command that shows the named objects: as they are with `-o`, else as rows. `absence` says why an object may not
 * exist: the server refuses one that does not exist like one that the caller may not get.
 */
export const showApprovable =
  (of: Approvable, rowsOf: (object: ApiObject) => readonly Row[], absence?: string): Run =>
  async (context, invocation) => {
    const print = await printerFor(invocation.text('output'), ['json', 'yaml']);
    const client = await connect(context, invocation);
    const objects: ApiObject[] = [];
    for (const name of invocation.args) {
      try {
        objects.push((await client.request<ApiObject>('GET', approvablePath(of, name))).value);
      } catch (error) {
        if (absence === undefined || !(isStatus(error, 403) || isStatus(error, 404))) throw error;
        context.err.write(`${describeError(error)}\n${absence}\n`);
        return 1;
      }
    }
    if (print !== undefined) context.out.write(print(objects.length === 1 ? objects[0] : asList(objects)));
    else context.out.write(objects.map((object) => render(rowsOf(object))).join('\n'));
    return 0;
  };

const render = (rows: readonly Row[]): string =>
  renderTable(rows.flatMap(([title, text]) => (text ? [[terminalSafe(title), terminalSafe(text)]] : [])));

export function person(user: RequestUser | undefined): string | undefined {
  if (user === undefined) return undefined;
  const { username, actors = [] } = user;
  return actors.length === 0 ? username : `${username} (also ${actors.join(', ')})`;
}

export const bindingRow = ({ bindingRef }: Pick<AccessRequestStatus, 'bindingRef'>): Row => [
  'Binding:',
  bindingRef && `${bindingRef.kind} ${[bindingRef.namespace, bindingRef.name].filter(Boolean).join('/')}`,
];

export const conditionRows = ({ conditions = [] }: Pick<AccessRequestStatus, 'conditions'>): Row[] =>
  conditions.map(({ type, lastTransitionTime, reason = '', message = '' }) => [
    `${type}:`,
    [lastTransitionTime, reason, message].filter((text) => text !== undefined && text !== '').join(', '),
  ]);

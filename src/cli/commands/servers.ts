import { terminalSafe } from '../../lib/text.ts';
import type { Run } from '../command.ts';
import { readLogins } from '../connection/logins.ts';
import { serverNames } from '../connection/server-names.ts';
import { printerFor } from '../output/printer.ts';
import { renderTable } from '../output/table.ts';

/** The servers with a login, in the manner of `kubectl config get-contexts`. */
export const run: Run = async (context, invocation) => {
  const output = invocation.text('output');
  const print = await printerFor(output, ['json', 'name', 'yaml']);
  const logins = await readLogins(context);
  const items = [...serverNames(logins)]
    .map(([server, name]) => ({ name, server, current: server === logins.current }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  // The name as `--server` takes it: a server is no object, so its name has no type.
  if (output === 'name') context.out.write(items.map(({ name }) => `${terminalSafe(name)}\n`).join(''));
  else if (print !== undefined) context.out.write(print({ items }));
  else if (items.length === 0) context.err.write('Not logged in to any server\n');
  else {
    const rows = items.map(({ name, server, current }) => [
      current ? '*' : '',
      terminalSafe(name),
      terminalSafe(server),
    ]);
    context.out.write(renderTable([['CURRENT', 'NAME', 'SERVER'], ...rows]));
  }
  return undefined;
};

import type { Run } from '../command.ts';
import { readLogins } from '../connection/logins.ts';
import { serverNames } from '../connection/server-names.ts';
import { renderTable } from '../output/table.ts';
import { terminalSafe } from '../output/terminal-safe.ts';

/** The servers with a login, in the manner of `kubectl config get-contexts`. */
export const run: Run = async (context) => {
  const logins = await readLogins(context);
  const rows = [...serverNames(logins)]
    .sort(([, a], [, b]) => (a < b ? -1 : 1))
    .map(([server, name]) => [server === logins.current ? '*' : '', terminalSafe(name), terminalSafe(server)]);
  if (rows.length === 0) context.err.write('Not logged in to any server\n');
  else context.out.write(renderTable([['CURRENT', 'NAME', 'SERVER'], ...rows]));
  return undefined;
};

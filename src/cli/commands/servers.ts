import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Run } from '../command.ts';
import { notLoggedIn, serverAt } from '../connection/connection.ts';
import { changeLogins, loginFor, readLogins, serverNames } from '../connection/logins.ts';
import { printTable, renderTable } from '../output/printer.ts';

/** The servers with a login, in the manner of `kubectl config get-contexts`. */
export const listServers: Run = async (context, invocation) => {
  const logins = await readLogins(context);
  const items = [...serverNames(logins)]
    .map(([server, name]) => ({ name, server, current: server === logins.current }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  // The name as `--server` takes it: a server is no object, so its name has no type.
  if (invocation.text('output') === 'name') context.out.write(renderTable(items.map(({ name }) => [name])));
  else {
    await printTable(
      context,
      invocation,
      { items },
      {
        head: ['CURRENT', 'NAME', 'SERVER'],
        rows: items.map(({ name, server, current }) => [current ? '*' : '', name, server]),
        none: 'Not logged in to any server',
      },
    );
  }
};

/** Makes a server with a login the current one, in the manner of `kubectl config use-context`. */
export const useServer: Run = async (context, invocation) => {
  const [given = ''] = invocation.args;
  let chosen = '';
  await changeLogins(context, (logins) => {
    const server = serverAt(logins, given);
    const names = serverNames(logins);
    if (loginFor(logins, server) === undefined) throw new CliError(notLoggedIn(server, names, { how: '' }));
    chosen = `${names.get(server)} (${server})`;
    return { ...logins, current: server };
  });
  context.out.write(`The current server is ${terminalSafe(chosen)}.\n`);
};

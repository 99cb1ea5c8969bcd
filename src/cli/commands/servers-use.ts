import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Run } from '../command.ts';
import { notLoggedIn, serverAt } from '../connection/connection.ts';
import { changeLogins, loginFor } from '../connection/logins.ts';
import { serverNames } from '../connection/server-names.ts';

/** Makes a server with a login the current one, in the manner of `kubectl config use-context`. */
export const run: Run = async (context, invocation) => {
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
  return undefined;
};

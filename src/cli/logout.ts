import { CliError, type Run } from './command.ts';
import { serverUrl } from './connection.ts';
import { forgetCredentials } from './credential-cache.ts';
import { changeLogins, loginFor, readLogins } from './logins.ts';

/** Forgets one login, or all; other programs' files are not touched. */
export const run: Run = async (context, invocation) => {
  const found = await readLogins(context);
  const servers = invocation.is('all')
    ? Object.keys(found.logins)
    : [chosen(invocation.text('server') ?? found.current)];
  for (const server of servers) {
    if (loginFor(found, server) === undefined) throw new CliError(`not logged in to ${server}`);
    await changeLogins(context, ({ current, logins }) => {
      const { [server]: _, ...rest } = logins;
      return { ...(current === undefined || current === server ? {} : { current }), logins: rest };
    });
    await forgetCredentials(context, server);
    context.out.write(`Logged out of ${server}.\n`);
  }
  return undefined;
};

function chosen(server: string | undefined): string {
  if (server === undefined) throw new CliError('not logged in');
  return serverUrl(server);
}

import { CliError, type Context, type Run } from '../command.ts';
import { serverUrl } from '../connection/connection.ts';
import { forgetCredentials } from '../connection/credential-cache.ts';
import { changeLogins, type Login, type Logins, loginFor, readLogins } from '../connection/logins.ts';

/** Forgets one login, or all; other programs' files are not touched. */
export const run: Run = async (context, invocation) => {
  const found = await readLogins(context);
  const servers = invocation.is('all')
    ? Object.keys(found.logins)
    : [chosen(invocation.text('server') ?? found.current, found)];
  for (const server of servers) {
    const login = loginFor(found, server);
    if (login === undefined) throw new CliError(`not logged in to ${server}`);
    await changeLogins(context, ({ current, logins }) => {
      const { [server]: _, ...rest } = logins;
      return { ...(current === undefined || current === server ? {} : { current }), logins: rest };
    });
    await forgetCredentials(context, server);
    await endSession(context, login);
    context.out.write(`Logged out of ${server}.\n`);
  }
  // None of them becomes the current one by itself: the next command would be sent where nobody meant it to go.
  const { current, logins } = await readLogins(context);
  const left = Object.keys(logins);
  if (current === undefined && left.length > 0) {
    context.err.write(`Still logged in to ${left.join(', ')}: choose by --server URL.\n`);
  }
  return undefined;
};

/** Here the login is forgotten in any case; that the provider forgets it, too, is only asked for. */
async function endSession({ err }: Context, { session }: Login): Promise<void> {
  if (session?.refreshToken === undefined) return;
  const { revoke } = await import('../oidc/provider-client.ts');
  try {
    await revoke(session, session.refreshToken);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    err.write(`Warning: the identity provider could not be told: ${error.message}\n`);
  }
}

function chosen(server: string | undefined, { logins }: Logins): string {
  if (server === undefined) {
    const left = Object.keys(logins);
    if (left.length === 0) throw new CliError('not logged in');
    throw new CliError(`no login is the current one: choose by --server URL among ${left.join(', ')}, or give --all`);
  }
  return serverUrl(server);
}

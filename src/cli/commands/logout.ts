import type { ApiObject } from '../../api/kind.ts';
import { isOpenPhase } from '../../api/kinds/approval.ts';
import { passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import { reviewSelf } from '../../client/access-reviews.ts';
import { quantity } from '../../lib/quantity.ts';
import { CliError, type Context, type Run } from '../command.ts';
import { clientFor, connectionOfLogin, givenServer, notLoggedIn, serverAt } from '../connection/connection.ts';
import { deleteCredentials } from '../connection/credential-cache.ts';
import { changeLogins, type Logins, loginFor, readLogins, serverNames } from '../connection/logins.ts';
import { deletePassKubeconfigs } from '../kubeconfig/pass-kubeconfig.ts';
import { revokeSession } from '../oidc/revoke-session.ts';
import { approvablePath, PASSES } from './approvals.ts';

/** Removes one login, or all, with the files of their passes. Other kubeconfigs are not changed. */
export const run: Run = async (context, invocation) => {
  const found = await readLogins(context);
  const servers = invocation.is('all')
    ? Object.keys(found.logins)
    : [selectedServer(givenServer(context, invocation) ?? found.current, found)];
  for (const server of servers) {
    let login = loginFor(found, server);
    if (login === undefined) throw new CliError(notLoggedIn(server, serverNames(found)));
    await endPasses(context, found, server);
    await changeLogins(context, ({ current, logins }) => {
      const { [server]: removed, ...rest } = logins;
      // Its refresh token may have been replaced since `found` was read, also by the request that ends the passes.
      login = removed ?? login;
      return { ...(current === undefined || current === server ? {} : { current }), logins: rest };
    });
    await deleteCredentials(context, server);
    await deletePassKubeconfigs(context, server);
    await revokeSession(context, login.session);
    context.out.write(`Logged out of ${server}.\n`);
  }
  // Of several, none becomes the current one: the next command might go to a server that the user did not choose.
  const { current, logins } = await readLogins(context);
  const remaining = Object.keys(logins);
  if (current === undefined && remaining.length > 0) {
    context.err.write(`Still logged in to ${remaining.join(', ')}: select one with --server URL.\n`);
  } else if (current !== undefined && current !== found.current) {
    context.err.write(`The current login is ${current} now, the only one left.\n`);
  }
};

/** Passes that were requested with the login end with it. One that cannot be reached ends by itself, within minutes. */
async function endPasses(context: Context, logins: Logins, server: string): Promise<void> {
  const ended = await revokeOwnPasses(context, logins, server).catch(() => 0);
  if (ended > 0) context.out.write(`Ended ${quantity(ended, 'pass', 'passes')} of ${server}.\n`);
}

/** A logout must not wait for a server that does not answer. */
const TIMEOUT_MS = 3_000;

/** Ends the live passes that were requested with this login, and returns their number. */
async function revokeOwnPasses(context: Context, logins: Logins, server: string): Promise<number> {
  const client = clientFor(context, connectionOfLogin(context, logins, server));
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { value } = await client.request<{ items: ApiObject[] }>('GET', PASSES.path, { expects: 'list', signal });
  if (value.items.length === 0) return 0;
  const { status } = await reviewSelf(client);
  const own = value.items.filter((pass) => {
    const { requestedBy, client: agent } = passSpec(pass);
    const isOfLogin = agent === undefined || agent.id === 'login';
    const isLive = isOpenPhase(passStatus(pass).phase);
    return isLive && isOfLogin && requestedBy?.username === status?.userInfo?.username;
  });
  for (const { metadata } of own) {
    await client.request('DELETE', approvablePath(PASSES, metadata.name ?? ''), { signal });
  }
  return own.length;
}

function selectedServer(server: string | undefined, found: Logins): string {
  if (server === undefined) {
    const servers = Object.keys(found.logins);
    if (servers.length === 0) throw new CliError('not logged in');
    throw new CliError(`no current login: select one with --server (${servers.join(', ')}) or use --all`);
  }
  return serverAt(found, server);
}

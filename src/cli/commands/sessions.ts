import type { ApiObject } from '../../api/kind.ts';
import { isOpenPhase } from '../../api/kinds/approval.ts';
import { passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import { reviewSelf } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus } from '../../client/errors.ts';
import { defined } from '../../lib/json.ts';
import { quantity, terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import {
  type Connection,
  clientFor,
  connectionOfLogin,
  givenServer,
  notLoggedIn,
  resolveConnection,
  serverAt,
} from '../connection/connection.ts';
import { deleteCredentials } from '../connection/credential-cache.ts';
import {
  changeLogins,
  checkedName,
  type Login,
  type Logins,
  loginFor,
  readLogins,
  serverNames,
} from '../connection/logins.ts';
import { sayAllowListEntry } from '../kubeconfig/exec-command.ts';
import { deletePassKubeconfigs } from '../kubeconfig/pass-kubeconfig.ts';
import type { Session } from '../oidc/oidc-session.ts';
import { settingsFromServer } from '../oidc/server-provider.ts';
import { clientSettings, signIn } from '../oidc/sign-in.ts';
import { printTable } from '../output/printer.ts';
import { approvablePath, PASSES } from './approvals.ts';

/** Gets a token, tests it at the server, and stores the login. */
export const login: Run = async (context, invocation) => {
  const { connection, session } = await getToken(context, invocation);
  const { server, certificateAuthority, insecureSkipTlsVerify } = connection;
  const name = nameFor(invocation.text('name'), server, await readLogins(context));
  const client = clientFor(context, connection);
  const user = await userOf(client, session === undefined ? connection.tokenSource : 'the ID token of the provider');
  const login: Login = {
    token: (await connection.token?.()) ?? '',
    ...defined({ name, session, certificateAuthority }),
    ...(insecureSkipTlsVerify ? { insecureSkipTlsVerify } : {}),
    productName: invocation.text('productName') ?? (await findProductName(client)) ?? connection.productName,
  };
  let replaced: Login | undefined;
  await changeLogins(context, (all) => {
    replaced = loginFor(all, server);
    return { current: server, logins: { ...all.logins, [server]: login } };
  });
  // Tokens that were issued to an earlier login may be refused now.
  await deleteCredentials(context, server);
  await revokeSession(context, replaced?.session, session);
  context.out.write(`Logged in to ${server} as ${JSON.stringify(terminalSafe(user))}.\n`);
  await sayAllowListEntry(context);
};

/** A login without `--name` keeps the name of the last one at the same server; `''` removes it. */
function nameFor(given: string | undefined, server: string, logins: Logins): string | undefined {
  if (given === undefined) return loginFor(logins, server)?.name;
  return given === '' ? undefined : checkedName(given, server, logins);
}

/**
 * Uses the given token, or signs in at an identity provider if a flag names one or no token is given. Without a flag it
 * is that of the login before, else the one that the server names. The token of the connection is the one to test and
 * to store.
 */
async function getToken(
  context: Context,
  invocation: Invocation,
): Promise<{ readonly connection: Connection; readonly session: Login['session'] }> {
  const hasTokenFlag = [invocation.text('token'), invocation.text('tokenFile')].some((value) => value !== undefined);
  const hasProviderFlag = invocation.text('issuerUrl') !== undefined || invocation.is('device');
  if (hasTokenFlag && hasProviderFlag) throw new CliError('cannot use both a token and an identity provider');
  const { CLUSTERPASS_TOKEN: token, CLUSTERPASS_TOKEN_FILE: tokenFile } = context.env;
  const hasToken = hasTokenFlag || (!hasProviderFlag && Boolean(token || tokenFile));
  const logins = await readLogins(context);
  if (!hasToken && (givenServer(context, invocation) ?? logins.current) === undefined)
    throw new CliError(`set --server URL, and, if it names no identity provider, ${CREDENTIAL_FLAGS}`);
  const connection = await resolveConnection(context, invocation);
  if (hasToken && connection.isTokenGiven) return { connection, session: undefined };
  const settings =
    (await clientSettings(context, invocation, loginFor(logins, connection.server)?.session)) ??
    (await settingsFromServer(context, invocation, connection, logins));
  if (settings === undefined) {
    throw new CliError(`${connection.server} names no identity provider: set ${CREDENTIAL_FLAGS}`);
  }
  const signedIn = await signIn(context, invocation, settings);
  return { connection: { ...connection, token: () => signedIn.token }, session: signedIn.session };
}

const CREDENTIAL_FLAGS = '--issuer-url URL and --client-id ID, or --token-file FILE for a token (- is stdin)';

async function userOf(client: Client, token: string): Promise<string> {
  try {
    const { status } = await reviewSelf(client);
    if (status?.userInfo?.username) return status.userInfo.username;
    throw new CliError('the server names no user for the token: it is not Clusterpass');
  } catch (error) {
    // The usual message tells the user to log in.
    throw isStatus(error, 401) ? new CliError(`the server refused ${token}`) : error;
  }
}

/** From the issuer of any visible cluster, `<base URL>/<product name>/<cluster>`. */
async function findProductName(client: Client): Promise<string | undefined> {
  for await (const { items } of client.clusterPages({ limit: 1 })) {
    const issuer = items[0]?.metadata.annotations?.['clusterpass.dev/issuer'] ?? '';
    const name = URL.canParse(issuer) ? new URL(issuer).pathname.split('/').at(-2) : undefined;
    return name === undefined || !/^[a-z0-9-]+$/i.test(name) ? undefined : name;
  }
  return undefined;
}

/** Removes one login, or all, with the files of their passes. Other kubeconfigs are not changed. */
export const logout: Run = async (context, invocation) => {
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
  const remaining = Object.keys((await readLogins(context)).logins);
  if (remaining.length > 0) context.err.write(`Still logged in to ${remaining.join(', ')}.\n`);
};

/** Passes that were requested with the login end with it. One that cannot be reached ends by itself, within minutes. */
async function endPasses(context: Context, logins: Logins, server: string): Promise<void> {
  const ended = await revokeOwnPasses(context, logins, server).catch(() => 0);
  if (ended > 0) context.out.write(`Ended ${quantity(ended, 'pass', 'passes')} of ${server}.\n`);
}

/** A logout must not wait for a server that does not answer. */
const END_TIMEOUT_MS = 3_000;

/** Ends the live passes that were requested with this login, and returns their number. */
async function revokeOwnPasses(context: Context, logins: Logins, server: string): Promise<number> {
  const client = clientFor(context, connectionOfLogin(context, logins, server));
  const signal = AbortSignal.timeout(END_TIMEOUT_MS);
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

/** The servers with a login, in the manner of `kubectl config get-contexts`. */
export const listServers: Run = async (context, invocation) => {
  const logins = await readLogins(context);
  const items = [...serverNames(logins)]
    .map(([server, name]) => ({ name, server, current: server === logins.current }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
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
};

/** Makes a server with a login the current one, in the manner of `kubectl config use-context`. */
export const useServer: Run = async (context, invocation) => {
  const [given = ''] = invocation.args;
  let chosen = '';
  await changeLogins(context, (logins) => {
    const server = serverAt(logins, given);
    const names = serverNames(logins);
    if (loginFor(logins, server) === undefined) throw new CliError(notLoggedIn(server, names));
    chosen = `${names.get(server)} (${server})`;
    return { ...logins, current: server };
  });
  context.out.write(`The current server is ${terminalSafe(chosen)}.\n`);
};

/**
 * Revokes the refresh token of a session that is no longer stored, so a failure is only a warning. It stays if the next
 * session is of the same person at the same client: a provider may end all tokens of a grant with one of them (RFC 7009
 * section 2.1), and the next session is often of the same grant. Keycloak, for example, would end the new login.
 */
async function revokeSession(context: Context, ended: Session | undefined, next?: Session): Promise<void> {
  if (ended?.refreshToken === undefined || (next !== undefined && mayShareGrant(ended, next))) return;
  const { revoke } = await import('../oidc/provider-client.ts');
  try {
    await revoke(ended, ended.refreshToken, context);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const which = next === undefined ? 'the refresh token' : 'the refresh token of the login before';
    context.err.write(`Warning: could not revoke ${which} at the identity provider: ${error.message}\n`);
  }
}

const mayShareGrant = (a: Session, b: Session): boolean =>
  a.issuerUrl === b.issuerUrl && a.clientId === b.clientId && a.subject === b.subject;

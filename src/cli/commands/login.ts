import { reviewSelf } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus } from '../../client/errors.ts';
import { defined } from '../../lib/json.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { type Connection, clientFor, givenServer, resolveConnection } from '../connection/connection.ts';
import { deleteCredentials } from '../connection/credential-cache.ts';
import { changeLogins, checkedName, type Login, type Logins, loginFor, readLogins } from '../connection/logins.ts';
import { describeError } from '../describe-error.ts';
import { sayAllowListEntry } from '../kubeconfig/exec-command.ts';
import { revokeSession } from '../oidc/revoke-session.ts';
import { settingsFromServer } from '../oidc/server-provider.ts';
import { clientSettings, signIn } from '../oidc/sign-in.ts';

/** Logs in. For the address of a page of the console, an error is followed by the address of the server. */
export const run: Run = async (context, invocation) => {
  try {
    await logIn(context, invocation);
    return 0;
  } catch (error) {
    const server = serverOfPage(givenServer(context, invocation) ?? '');
    const text = describeError(error);
    if (server === undefined || text === undefined) throw error;
    context.err.write(`${text}\nThe server is probably ${server}: ${server}/console/ is its console.\n`);
    return 1;
  }
};

/** A server itself may be below a path, so the address of a page is recognized only after an error. */
function serverOfPage(given: string): string | undefined {
  const text = given.includes('://') ? given : `https://${given}`;
  if (!URL.canParse(text)) return undefined;
  const { origin, pathname } = new URL(text);
  const [, base] = /^(.*?)\/console(?:\/|$)/.exec(pathname) ?? [];
  return base === undefined ? undefined : `${origin}${base}`;
}

/** Gets a token, tests it at the server, and stores the login. */
async function logIn(context: Context, invocation: Invocation): Promise<void> {
  const { connection, session } = await getToken(context, invocation);
  const { server, certificateAuthority, insecureSkipTlsVerify } = connection;
  const name = nameFor(invocation.text('name'), server, await readLogins(context));
  const client = clientFor(context, connection);
  const user = await userOf(
    client,
    session === undefined ? connection.tokenSource.name : 'the ID token of the provider',
  );
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
}

/** A login without `--name` keeps the name of the last one at the same server; `''` removes it. */
function nameFor(given: string | undefined, server: string, logins: Logins): string | undefined {
  if (given === undefined) return loginFor(logins, server)?.name;
  return given === '' ? undefined : checkedName(given, server, logins);
}

interface TokenAndSession {
  /** Its token is the one to test and to store. */
  readonly connection: Connection;
  readonly session: Login['session'];
}

/**
 * Uses the given token, or signs in at an identity provider if a flag names one or no token is given. Without a flag it
 * is that of the login before, else the one that the server names.
 */
async function getToken(context: Context, invocation: Invocation): Promise<TokenAndSession> {
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

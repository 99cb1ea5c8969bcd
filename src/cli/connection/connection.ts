import { resolve } from 'node:path';
import { type Client, createClient } from '../../client/create-client.ts';
import type { TokenProvider } from '../../client/transport.ts';
import { terminalSafe } from '../../lib/text.ts';
import { checkClusterName } from '../clusters.ts';
import { CliError, type Context, type Invocation, UsageError } from '../command.ts';
import { readCertificates, readGivenFile } from '../files/files.ts';
import { fetchWithProgress } from '../progress.ts';
import { checkedUrl, fetchFor, requireHttps } from './fetch-for.ts';
import { type Login, type Logins, loginFor, readLogins, serverNames } from './logins.ts';

/** A server, the token for it, and the certificates to trust. */
export interface Connection {
  readonly server: string;
  readonly token: TokenProvider | undefined;
  /** The ID of the session that refreshes the token; undefined if the token is fixed. */
  readonly sessionId: string | undefined;
  /** The file that the token is read from, for each request; undefined for any other token. */
  readonly tokenFile: string | undefined;
  /** Where the token comes from, never what it is: `the token in CLUSTERPASS_TOKEN`. */
  readonly tokenSource: string;
  /** Whether a flag or a variable has the token, not a login. */
  readonly isTokenGiven: boolean;
  readonly certificateAuthority: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly productName: string;
  /** Names of all logins by address, for the error that there is none for this server. */
  readonly loginNames: ReadonlyMap<string, string>;
}

/** Flags take precedence over environment variables, and these over the login for the server. */
export async function resolveConnection(context: Context, invocation: Invocation): Promise<Connection> {
  checkClusterName(invocation.text('cluster') ?? '', '--cluster');
  const logins = await readLogins(context);
  const given = givenServer(context, invocation) ?? logins.current;
  if (given === undefined) {
    const servers = Object.keys(logins.logins);
    if (servers.length > 0) {
      const how = 'choose one with clusterpass servers use, or set --server';
      throw new UsageError(`no current login: ${how} (${servers.join(', ')})`);
    }
    throw new UsageError('no server: run clusterpass login --server URL, or set --server or CLUSTERPASS_SERVER');
  }
  return connectionTo(context, invocation, logins, serverAt(logins, given));
}

/** Of `--server` or its variable. */
export const givenServer = ({ env }: Context, invocation: Invocation): string | undefined =>
  invocation.text('server') ?? (env.CLUSTERPASS_SERVER || undefined);

export async function connectionTo(
  context: Context,
  invocation: Invocation,
  logins: Logins,
  server: string,
): Promise<Connection> {
  const { env } = context;
  const caFile = invocation.text('certificateAuthority') ?? (env.CLUSTERPASS_CA || undefined);
  return connectionWith(context, logins, server, {
    token: givenToken(context, invocation, logins, server),
    insecureSkipTlsVerify: invocation.is('insecureSkipTlsVerify'),
    productName: invocation.text('productName') ?? (env.CLUSTERPASS_PRODUCT_NAME || undefined),
    certificateAuthority: caFile === undefined ? undefined : await readCertificates(resolve(context.cwd, caFile)),
  });
}

/** With the stored login only: a token in a flag or a variable may be for another server. */
export const connectionOfLogin = (context: Context, logins: Logins, server: string): Connection =>
  connectionWith(context, logins, server, {});

/** Of flags and variables. */
interface GivenSettings extends Partial<Pick<Connection, 'certificateAuthority' | 'insecureSkipTlsVerify'>> {
  readonly token?: GivenToken | undefined;
  readonly productName?: string | undefined;
}

function connectionWith(context: Context, logins: Logins, server: string, given: GivenSettings): Connection {
  const login = loginFor(logins, server);
  const insecureSkipTlsVerify = given.insecureSkipTlsVerify === true || login?.insecureSkipTlsVerify === true;
  if (!insecureSkipTlsVerify) requireHttps(server, { alternative: ', or allow it with --insecure-skip-tls-verify' });
  return {
    server,
    token: given.token?.provider ?? loginToken(context, server, login),
    tokenFile: given.token?.file,
    tokenSource: given.token?.source ?? `the login for ${server}: run clusterpass login --server ${server}`,
    isTokenGiven: given.token !== undefined,
    sessionId: given.token === undefined ? login?.session?.id : undefined,
    certificateAuthority: given.certificateAuthority ?? login?.certificateAuthority,
    insecureSkipTlsVerify,
    productName: given.productName ?? login?.productName ?? 'orchestrator',
    loginNames: serverNames(logins),
  };
}

/** The environment of a program that this one starts. A token in it may be for another server. */
export const environmentFor = ({ env }: Context, { server }: Connection): Context['env'] => ({
  ...env,
  CLUSTERPASS_SERVER: server,
  CLUSTERPASS_TOKEN: undefined,
  CLUSTERPASS_TOKEN_FILE: undefined,
});

/** The client of a command. */
export async function connect(context: Context, invocation: Invocation): Promise<Client> {
  return clientFor(context, await resolveConnection(context, invocation));
}

/** Public, because the console reads it before anyone signs in. */
export const CONSOLE_SETTINGS = '/console/settings.json';

/** Sends no token, for public paths. */
export const anonymousClient = (context: Context, connection: Connection): Client =>
  createClient({
    server: connection.server,
    fetch: fetchWithProgress(context, connection.server, fetchFor(connection, context.env)),
  });

export const clientFor = (context: Context, connection: Connection): Client =>
  createClient(clientOptions(context, connection));

/** Fails without a token: every request of a command needs one. */
export function tokenFor({ server, token, loginNames }: Connection): TokenProvider {
  if (token !== undefined) return token;
  throw new CliError(`${notLoggedIn(server, loginNames)}; or set --token-file, or CLUSTERPASS_TOKEN for this server`);
}

/** Names the logins that there are: the server may be a misspelled name of one. */
export function notLoggedIn(server: string, loginNames: ReadonlyMap<string, string>): string {
  const names = [...loginNames.values()].sort().join(', ');
  const logins = names === '' ? '' : `; your logins are ${names}`;
  return `not logged in to ${server}: run clusterpass login --server ${server}${logins}`;
}

/** A server cannot fill the memory of a command that runs for long. */
const MAX_WARNINGS = 1_000;

export function clientOptions(context: Context, connection: Connection) {
  const { server, productName } = connection;
  const warned = new Set<string>();
  return {
    server,
    tokenProvider: tokenFor(connection),
    credentialSource: connection.tokenSource,
    productName,
    fetch: fetchWithProgress(context, server, fetchFor(connection, context.env)),
    userAgent: `clusterpass/${context.version}`,
    // Each one once, as kubectl: a write repeats those of its dry run.
    onWarning: (text: string): void => {
      if (warned.has(text) || warned.size === MAX_WARNINGS) return;
      warned.add(text);
      context.err.write(`Warning: ${terminalSafe(text)}\n`);
    },
  };
}

/** The address for a value of `--server`: the name of a login as `clusterpass servers` shows it, or an address. */
export const serverAt = (logins: Logins, given: string): string =>
  [...serverNames(logins)].find(([, name]) => name === given)?.[0] ?? serverUrl(given);

/** Normalizes the address of a server. Logins are stored under it. */
export function serverUrl(given: string): string {
  const url = checkedUrl(URL.parse(given.includes('://') ? given : `https://${given}`), given, '--server');
  if (url.search !== '' || url.hash !== '') throw new UsageError('--server must not have a query or a fragment');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function loginToken(context: Context, server: string, login: Login | undefined): TokenProvider | undefined {
  if (login === undefined) return undefined;
  if (login.session === undefined) return () => login.token;
  return async (refused, signal) => (await import('./session-token.ts')).sessionToken(context, server)(refused, signal);
}

interface GivenToken {
  readonly provider: TokenProvider;
  readonly source: string;
  /** The file that it is read from, for each request. */
  readonly file?: string;
}

/** A token itself comes before a file with one, and flags come before variables. */
function givenToken(context: Context, invocation: Invocation, logins: Logins, server: string): GivenToken | undefined {
  const { CLUSTERPASS_TOKEN, CLUSTERPASS_TOKEN_FILE } = isVariableFor(context, logins, server) ? context.env : {};
  const flag = invocation.text('token');
  if (flag !== undefined) return tokenIn(flag, 'the token of --token');
  const file = invocation.text('tokenFile');
  if (file === '-') {
    const source = 'the token on stdin';
    // stdin can be read only once.
    let read: Promise<string> | undefined;
    const provider = async (): Promise<string> => {
      read ??= context.readStdin();
      return checkedToken(await read, source);
    };
    return { provider, source };
  }
  if (file !== undefined) return tokenOfFile(context, file, `the token in ${file}`);
  if (CLUSTERPASS_TOKEN) return tokenIn(CLUSTERPASS_TOKEN, 'the token in CLUSTERPASS_TOKEN');
  if (!CLUSTERPASS_TOKEN_FILE) return undefined;
  const source = `the token in ${CLUSTERPASS_TOKEN_FILE} (CLUSTERPASS_TOKEN_FILE)`;
  return tokenOfFile(context, CLUSTERPASS_TOKEN_FILE, source);
}

const tokenIn = (text: string, source: string): GivenToken => ({ provider: () => checkedToken(text, source), source });

const tokenOfFile = ({ cwd }: Context, file: string, source: string): GivenToken => ({
  provider: async () => checkedToken(await readGivenFile(resolve(cwd, file)), file),
  source,
  file,
});

/** A token in a variable is for the server in CLUSTERPASS_SERVER. Without one, it is for the chosen server. */
function isVariableFor({ env }: Context, logins: Logins, server: string): boolean {
  if (!env.CLUSTERPASS_SERVER) return true;
  try {
    return serverAt(logins, env.CLUSTERPASS_SERVER) === server;
  } catch {
    return false;
  }
}

/** fetch would repeat a token that is not a valid header value in its error message. */
function checkedToken(text: string, source: string): string {
  const token = text.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CliError(`${source} is empty or not a bearer token`);
  return token;
}

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { type Client, createClient } from '../../client/create-client.ts';
import type { TokenProvider } from '../../client/transport.ts';
import { CliError, type Context, type Invocation } from '../command.ts';
import { readGiven, readPem } from '../given-files.ts';
import { whileWaiting } from '../progress.ts';
import { fetchFor } from './fetch-for.ts';
import { type Login, loginFor, readLogins } from './logins.ts';
import { sessionToken } from './session-token.ts';

/** Where to, as whom, trusting whom. */
export interface Connection {
  readonly server: string;
  readonly token: TokenProvider | undefined;
  /** The session that the tokens are from, as long as it lasts; undefined when it is one token and no other. */
  readonly sessionId: string | undefined;
  readonly certificateAuthority: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly productName: string;
}

/** Flags over variables over the login for that server. */
export async function resolveConnection(context: Context, invocation: Invocation): Promise<Connection> {
  const { env } = context;
  const logins = await readLogins(context);
  const given = invocation.text('server') ?? (env.CLUSTERPASS_SERVER || undefined) ?? logins.current;
  if (given === undefined) {
    const left = Object.keys(logins.logins);
    if (left.length > 0) {
      throw new CliError(`no login is the current one: choose by --server URL among ${left.join(', ')}`);
    }
    throw new CliError(
      'no server is known: run clusterpass login --server URL, or give --server or CLUSTERPASS_SERVER',
    );
  }
  const server = serverUrl(given);
  const login = loginFor(logins, server);
  const insecureSkipTlsVerify = invocation.is('insecureSkipTlsVerify') || login?.insecureSkipTlsVerify === true;
  refusePlainHttp(server, insecureSkipTlsVerify);
  const token = givenToken(context, invocation);
  const caFile = invocation.text('certificateAuthority') ?? (env.CLUSTERPASS_CA || undefined);
  return {
    server,
    token: token ?? loginToken(context, server, login),
    sessionId: token === undefined ? login?.session?.id : undefined,
    certificateAuthority:
      caFile === undefined ? login?.certificateAuthority : await readPem(resolve(context.cwd, caFile)),
    insecureSkipTlsVerify,
    productName:
      invocation.text('productName') ??
      (env.CLUSTERPASS_PRODUCT_NAME || undefined) ??
      login?.productName ??
      'orchestrator',
  };
}

/** A client for a command; without a token there is no point in asking. */
export async function connect(context: Context, invocation: Invocation): Promise<Client> {
  return clientFor(context, await resolveConnection(context, invocation));
}

export async function clientFor(context: Context, connection: Connection): Promise<Client> {
  const { server, token, productName } = connection;
  if (token === undefined) {
    throw new CliError(
      `not logged in to ${server}: run clusterpass login --server ${server}, or give --token-file or CLUSTERPASS_TOKEN`,
    );
  }
  return createClient({
    server,
    tokenProvider: token,
    productName,
    fetch: whileWaiting(context, server, await fetchFor(connection)),
    userAgent: `clusterpass/${context.version}`,
    onWarning: (text) => context.err.write(`Warning: ${text}\n`),
  });
}

/** One spelling for each server, since logins are found by it. */
export function serverUrl(given: string): string {
  const text = given.includes('://') ? given : `https://${given}`;
  if (!URL.canParse(text)) throw new CliError(`--server: ${JSON.stringify(given)} is not a URL`);
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new CliError('--server must be an https URL');
  if (url.username !== '' || url.password !== '') throw new CliError('--server must not contain credentials');
  if (url.search !== '' || url.hash !== '') throw new CliError('--server must not have a query or a fragment');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function refusePlainHttp(server: string, allowed: boolean): void {
  const { protocol, hostname } = new URL(server);
  if (protocol === 'https:' || allowed || isLoopback(hostname)) return;
  throw new CliError(
    `${server} is plain HTTP, and the token could be read on the way: use https, or --insecure-skip-tls-verify to do it anyway`,
  );
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));

function loginToken(context: Context, server: string, login: Login | undefined): TokenProvider | undefined {
  if (login === undefined) return undefined;
  return login.session === undefined ? () => login.token : sessionToken(context, server);
}

function givenToken(context: Context, invocation: Invocation): TokenProvider | undefined {
  const given = invocation.text('token');
  if (given !== undefined) return () => checkedToken(given, '--token');
  const file = invocation.text('tokenFile');
  if (file === '-') {
    // Can be read once only.
    let text: Promise<string> | undefined;
    return async () => {
      text ??= context.readStdin();
      return checkedToken(await text, 'the token on stdin');
    };
  }
  if (file !== undefined) return async () => checkedToken(await readGiven(resolve(context.cwd, file)), file);
  const variable = context.env.CLUSTERPASS_TOKEN;
  if (variable) return () => checkedToken(variable, 'CLUSTERPASS_TOKEN');
  return undefined;
}

/** A token that no header can carry would come back in the error message of whoever tries. */
function checkedToken(text: string, source: string): string {
  const token = text.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CliError(`${source} is empty or not a bearer token`);
  return token;
}

import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { type Client, createClient } from '../client/create-client.ts';
import type { Fetch, TokenProvider } from '../client/transport.ts';
import { CliError, type Context, type Invocation } from './command.ts';
import { type Login, loginFor, readLogins } from './logins.ts';
import { fileProblem } from './private-files.ts';
import { whileWaiting } from './progress.ts';

/** Where to, as whom, trusting whom. */
export interface Connection {
  readonly server: string;
  readonly token: TokenProvider | undefined;
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
  const caFile = invocation.text('certificateAuthority') ?? (env.CLUSTERPASS_CA || undefined);
  return {
    server,
    token: tokenFrom(context, invocation, login),
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

/** The package that can trust other authorities is loaded only where it is needed. */
export async function fetchFor(
  connection: Pick<Connection, 'certificateAuthority' | 'insecureSkipTlsVerify'>,
): Promise<Fetch> {
  const { certificateAuthority: ca, insecureSkipTlsVerify } = connection;
  if (ca === undefined && !insecureSkipTlsVerify) return (input, init) => globalThis.fetch(input, init);
  const { createNodeFetch } = await import('../client/node.ts');
  return createNodeFetch({ insecureSkipTlsVerify, ...(ca === undefined ? {} : { ca }) });
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

function tokenFrom(context: Context, invocation: Invocation, login: Login | undefined): TokenProvider | undefined {
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
  return login === undefined ? undefined : () => login.token;
}

/** A token that no header can carry would come back in the error message of whoever tries. */
function checkedToken(text: string, source: string): string {
  const token = text.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CliError(`${source} is empty or not a bearer token`);
  return token;
}

async function readPem(path: string): Promise<string> {
  const text = await readGiven(path);
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new CliError(`${path} has no certificate in it`);
  return text;
}

async function readGiven(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new CliError(`cannot read ${path}: ${fileProblem(error)}`);
  }
}

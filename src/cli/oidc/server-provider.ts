import { StatusError } from '../../client/errors.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation } from '../command.ts';
import { anonymousClient, CONSOLE_SETTINGS, type Connection } from '../connection/connection.ts';
import { isLoopback } from '../connection/fetch-for.ts';
import type { Logins } from '../connection/logins.ts';
import type { ClientSettings } from './oidc-session.ts';
import { clientSettings } from './sign-in.ts';

/** The client at the identity provider of the server's console; undefined if the server names none. */
export async function settingsFromServer(
  context: Context,
  invocation: Invocation,
  connection: Connection,
  logins: Logins,
): Promise<ClientSettings | undefined> {
  if (invocation.text('clientSecretFile') !== undefined) {
    throw new CliError(
      '--client-secret-file: set --issuer-url, too. A provider that the server names does not get the secret',
    );
  }
  const named = await providerOf(context, connection);
  const settings = named && (await clientSettings(context, invocation, named));
  if (settings === undefined) return undefined;
  const { issuerUrl, clientId } = settings;
  const { server } = connection;
  const printed = checkedIssuer(issuerUrl, server);
  const found = terminalSafe(`${server} names the identity provider ${printed} and the client ID ${clientId}`);
  const other = serverWith(issuerUrl, server, logins);
  if (other !== undefined) {
    throw new CliError(
      `${found}. Your login at ${other} uses this provider, and a token for one server may be valid at the other. If ` +
        'both are yours, set --issuer-url and --client-id',
    );
  }
  context.err.write(`${found}.\n`);
  return settings;
}

async function providerOf(context: Context, connection: Connection): Promise<ClientSettings | undefined> {
  const client = anonymousClient(context, connection);
  try {
    const { value } = await client.request<{ provider?: { issuer?: unknown; clientId?: unknown } }>(
      'GET',
      CONSOLE_SETTINGS,
    );
    const { issuer, clientId } = value.provider ?? {};
    return typeof issuer === 'string' && typeof clientId === 'string' ? { issuerUrl: issuer, clientId } : undefined;
  } catch (error) {
    // It has no console, or a proxy before it refuses requests without a token.
    if (error instanceof StatusError && error.code < 500) return undefined;
    throw error;
  }
}

/** The URL as it is resolved, with the host in ASCII: the text of the server may look like another one. */
function checkedIssuer(issuer: string, server: string): string {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const problem = problemOf(url, isLoopback(new URL(server).hostname));
  if (url !== undefined && problem === undefined) return url.href;
  const named = JSON.stringify(terminalSafe(url?.href ?? issuer));
  throw new CliError(`${server} names the identity provider ${named}, which ${problem}`);
}

function problemOf(url: URL | undefined, isServerLocal: boolean): string | undefined {
  if (url === undefined) return 'is not an https URL';
  const { protocol, hostname, username, password, href } = url;
  const isLocal = isLoopback(hostname);
  // A server elsewhere must not direct this machine to a port of itself.
  if (isLocal && !isServerLocal) return 'is on this machine';
  // RFC 8252 section 8.3.
  if (protocol !== 'https:' && !(protocol === 'http:' && isLocal)) return 'is not an https URL';
  if (username !== '' || password !== '') return 'contains credentials';
  // Discovery does not compare the issuer in metadata that is named by its own address.
  return href.includes('/.well-known/') ? 'is not an issuer URL' : undefined;
}

/**
 * A server with a login at the same provider. A hostile server could name that provider to get a token for that server,
 * also with another client: a server may accept several, and the client ID of a console is public.
 */
const serverWith = (issuerUrl: string, server: string, { logins }: Logins): string | undefined =>
  Object.entries(logins).find(
    ([other, { session }]) =>
      other !== server && session !== undefined && comparable(session.issuerUrl) === comparable(issuerUrl),
  )?.[0];

/** One text for all URLs with which discovery finds the same issuer. */
const comparable = (issuerUrl: string): string =>
  (URL.canParse(issuerUrl) ? new URL(issuerUrl).href : issuerUrl).replace(/\/(?:\.well-known\/.*)?$/, '');

import { StatusError } from '../../client/errors.ts';
import { CliError, type Context, type Invocation } from '../command.ts';
import { anonymousClient, type Connection } from '../connection/connection.ts';
import type { Logins } from '../connection/logins.ts';
import { isLoopback } from '../connection/require-https.ts';
import { terminalSafe } from '../output/terminal-safe.ts';
import type { ClientSettings } from './oidc-session.ts';
import { clientSettings } from './sign-in.ts';

/** Public, because the console reads it before anyone signs in. */
const CONSOLE_SETTINGS = '/console/settings.json';

/** The client at the identity provider of the server's console; undefined if the server names none. */
export async function settingsFromServer(
  context: Context,
  invocation: Invocation,
  connection: Connection,
  logins: Logins,
): Promise<ClientSettings | undefined> {
  const named = await providerOf(context, connection);
  const settings = named && (await clientSettings(context, invocation, named));
  if (settings === undefined) return undefined;
  const { issuerUrl, clientId } = settings;
  const { server } = connection;
  checkIssuer(issuerUrl, server);
  const found = terminalSafe(`${server} names the identity provider ${issuerUrl} and the client ID ${clientId}`);
  const other = serverWith(settings, server, logins);
  if (other !== undefined) {
    throw new CliError(
      `${found}, which your login at ${other} uses: a token for one server is valid at the other. If both are yours, ` +
        'set --issuer-url and --client-id',
    );
  }
  context.err.write(`${found}.\n`);
  return settings;
}

async function providerOf(context: Context, connection: Connection): Promise<ClientSettings | undefined> {
  const client = await anonymousClient(context, connection);
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

/** RFC 8252 section 8.3. A server elsewhere must not direct this machine to a port of itself. */
function checkIssuer(issuer: string, server: string): void {
  const { protocol, hostname } = URL.canParse(issuer) ? new URL(issuer) : { protocol: '', hostname: '' };
  const isLocal = protocol === 'http:' && isLoopback(hostname) && isLoopback(new URL(server).hostname);
  if (protocol === 'https:' || isLocal) return;
  const named = JSON.stringify(terminalSafe(issuer));
  throw new CliError(`${server} names the identity provider ${named}, which is not an https URL`);
}

/** A server with a login of the same client. A hostile server could name that client to get a token for that server. */
const serverWith = (settings: ClientSettings, server: string, { logins }: Logins): string | undefined =>
  Object.entries(logins).find(
    ([other, { session }]) =>
      other !== server && session?.issuerUrl === settings.issuerUrl && session.clientId === settings.clientId,
  )?.[0];

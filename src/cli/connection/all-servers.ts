import type { Client } from '../../client/create-client.ts';
import type { Context, Invocation } from '../command.ts';
import { describeError } from '../describe-error.ts';
import { type Connection, clientFor, connectionTo, givenServer, resolveConnection } from './connection.ts';
import { readLogins, serverNames } from './logins.ts';

/** A server of a command that covers all logins. */
export interface NamedServer {
  /** How the server is written before the name of a cluster. */
  readonly name: string;
  readonly connection: Connection;
  readonly client: Client;
}

/**
 * The servers of all logins, by name. If a server or a token is given, only one server: a token must not be sent to
 * others than its own.
 */
export async function connectAll(context: Context, invocation: Invocation): Promise<readonly NamedServer[]> {
  const logins = await readLogins(context);
  const names = serverNames(logins);
  const named = async (connection: Connection): Promise<NamedServer> => ({
    name: names.get(connection.server) ?? new URL(connection.server).host,
    connection,
    client: clientFor(context, connection),
  });
  if (names.size < 2 || !isForAllLogins(context, invocation)) {
    return [await named(await resolveConnection(context, invocation))];
  }
  const servers = [...names].sort(([, a], [, b]) => (a < b ? -1 : 1));
  return Promise.all(servers.map(async ([server]) => named(await connectionTo(context, invocation, logins, server))));
}

/** Whether a command over several servers is for all that have a login. */
export const isForAllLogins = (context: Context, invocation: Invocation): boolean =>
  givenServer(context, invocation) === undefined && !isTokenGiven(context, invocation);

const isTokenGiven = ({ env }: Context, invocation: Invocation): boolean =>
  [invocation.text('token'), invocation.text('tokenFile'), env.CLUSTERPASS_TOKEN, env.CLUSTERPASS_TOKEN_FILE].some(
    Boolean,
  );

/** Asks all servers at once. Of several servers, one that fails is named on stderr and does not fail the others. */
export async function askAll<T>(
  context: Context,
  servers: readonly NamedServer[],
  ask: (server: NamedServer) => Promise<T>,
) {
  const [only] = servers;
  if (servers.length === 1 && only !== undefined) {
    return { answers: [{ server: only, value: await ask(only) }], failed: [] as NamedServer[] };
  }
  const answers: { server: NamedServer; value: T }[] = [];
  const failed: NamedServer[] = [];
  const results = await Promise.allSettled(servers.map(ask));
  for (const [at, server] of servers.entries()) {
    const result = results[at] as PromiseSettledResult<T>;
    if (result.status === 'fulfilled') {
      answers.push({ server, value: result.value });
      continue;
    }
    context.err.write(`error: ${failureAt(server, result.reason)}\n`);
    failed.push(server);
  }
  return { answers, failed };
}

/** A failure with the name of its server. Throws an error that is a bug of this program. */
export function failureAt({ name }: NamedServer, error: unknown): string {
  const text = describeError(error)?.replace(/^error: /, '');
  if (text === undefined) throw error;
  return `server ${name}: ${text}`;
}

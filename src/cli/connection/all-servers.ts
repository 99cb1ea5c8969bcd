import type { Client } from '../../client/create-client.ts';
import type { Context, Invocation } from '../command.ts';
import { describeError } from '../describe-error.ts';
import { type Connection, clientFor, connectionTo, givenServer, resolveConnection } from './connection.ts';
import { readLogins, serverNames } from './logins.ts';

/** A server of a command that covers all logins. */
export interface NamedServer {
  /** How the server is written before the name of a cluster. */
  readonly name: string;
  readonly isOneOfSeveral: boolean;
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
  const named = (connection: Connection, isOneOfSeveral: boolean): NamedServer => ({
    name: names.get(connection.server) ?? new URL(connection.server).host,
    isOneOfSeveral,
    connection,
    client: clientFor(context, connection),
  });
  const { CLUSTERPASS_TOKEN: token, CLUSTERPASS_TOKEN_FILE: tokenFile } = context.env;
  const isTokenGiven = [invocation.text('token'), invocation.text('tokenFile'), token, tokenFile].some(Boolean);
  if (names.size < 2 || isTokenGiven || givenServer(context, invocation) !== undefined) {
    return [named(await resolveConnection(context, invocation), false)];
  }
  const servers = [...names].sort(([, a], [, b]) => (a < b ? -1 : 1));
  return Promise.all(
    servers.map(async ([server]) => named(await connectionTo(context, invocation, logins, server), true)),
  );
}

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
    const text = describeError(result.reason)?.replace(/^error: /, '');
    if (text === undefined) throw result.reason;
    context.err.write(`error: server ${server.name}: ${text}\n`);
    failed.push(server);
  }
  return { answers, failed };
}

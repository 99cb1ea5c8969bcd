import { CLUSTERPASS_ANSWER, wrongTypeIn } from '../client/answer-types.ts';
import { ConnectionError, requestFailed, responseFailed, StatusError, statusFrom } from '../client/errors.ts';
import { type Context, Invocation, UsageError } from './command.ts';
import { connectionTo, credentialSource, serverUrl, tokenFor } from './connection/connection.ts';
import { fetchFor } from './connection/fetch-for.ts';
import { describeError } from './describe-error.ts';

/** What `clusterpass store check --server` needs of a client: server/, whose command it is, has none. */
export const storeClient = (context: Context) => ({
  listAt: (server: string, flags: Readonly<Record<string, unknown>>) => servedLists(context, server, flags),
  describeError: (error: unknown) => describeError(error)?.replace(/^error: /, ''),
});

/** Lists a path at the server of `clusterpass store check --server`. */
async function servedLists(
  context: Context,
  given: string,
  flags: Readonly<Record<string, unknown>>,
): Promise<<T>(path: string) => Promise<T>> {
  const invocation = new Invocation([], flags);
  if (invocation.text('tokenFile') === undefined) {
    throw new UsageError('--server needs --token-file, with the token of an administrator');
  }
  const connection = await connectionTo(context, invocation, { logins: {} }, serverUrl(given));
  const { server } = connection;
  const token = await tokenFor(connection)();
  const fetch = fetchFor(connection, context.env);
  return async <T>(path: string): Promise<T> => {
    const response = await fetch(`${server}${path}`, {
      headers: { Authorization: `Bearer ${token}`, Accept: 'application/json' },
      redirect: 'error',
    }).catch((error: unknown) => {
      throw requestFailed(server, error);
    });
    if (!response.ok) {
      const source = response.status === 401 ? credentialSource(connection) : undefined;
      throw new StatusError(statusFrom(response.status, await response.text()), [], source);
    }
    // Not by the client, which bounds a response: the server has each list in one piece.
    const list: unknown = await response.json().catch((error: unknown) => {
      throw responseFailed(server, error);
    });
    const problem = wrongTypeIn(list, CLUSTERPASS_ANSWER, 'list');
    if (problem !== undefined) throw new ConnectionError(`${server} sent ${problem}`);
    return list as T;
  };
}

import { readPages } from '../client/list-pages.ts';
import { type Context, Invocation, UsageError } from './command.ts';
import { clientFor, connectionTo, serverUrl } from './connection/connection.ts';
import { describeError } from './describe-error.ts';

/** What `clusterpass store check --server` needs of a client: server/, whose command it is, has none. */
export const storeClient = (context: Context) => ({
  listAt: (server: string, flags: Readonly<Record<string, unknown>>) => servedLists(context, server, flags),
  describeError: (error: unknown) => describeError(error)?.replace(/^error: /, ''),
});

interface ServedPage<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** Lists a path at the server of `clusterpass store check --server`: all pages, of one resourceVersion. */
async function servedLists(context: Context, given: string, flags: Readonly<Record<string, unknown>>) {
  const invocation = new Invocation([], flags);
  if (invocation.text('tokenFile') === undefined) {
    throw new UsageError('--server needs --token-file, with the token of an administrator');
  }
  const client = clientFor(context, await connectionTo(context, invocation, { logins: {} }, serverUrl(given)));
  return async <T>(path: string): Promise<ServedPage<T>> => {
    const pages = await readPages<ServedPage<T>>(client, path, {});
    const { metadata } = pages[0] as ServedPage<T>;
    return { metadata, items: pages.flatMap(({ items }) => items) };
  };
}

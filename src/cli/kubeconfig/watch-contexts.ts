import { endpointsFingerprint } from '../../api/clusters/confirmed-endpoint.ts';
import { endpointsInForce } from '../../client/types.ts';
import { pause } from '../../lib/backoff.ts';
import { Wakeup } from '../../sync/wakeup.ts';
import type { Context } from '../command.ts';
import { askAll, type NamedServer } from '../connection/all-servers.ts';
import { describeError } from '../describe-error.ts';
import { areEndpointsConfirmed } from './wanted-contexts.ts';

/** Changes within this time are written together. */
const SETTLE_MS = 200;
const MAX_WAIT_MS = 2 ** 31 - 1;

/** Writes the contexts, and again whenever clusters come, go or move, until the program is stopped. */
export async function watchContexts(
  context: Context,
  { servers, labelSelector }: { readonly servers: readonly NamedServer[]; readonly labelSelector?: string | undefined },
  write: (context: Context, isRepeated: boolean) => Promise<unknown>,
): Promise<number> {
  const wakeup = new Wakeup();
  const ended = new AbortController();
  const following = askAll(context, servers, async ({ client }) => {
    const signal = context.stopped();
    const known = new Map<string, string>();
    for await (const { type, cluster } of client.watchClusters({ labelSelector, signal, onSynced: wakeup.set })) {
      const { name } = cluster.metadata;
      const isConfirmed = areEndpointsConfirmed(cluster);
      const endpoints =
        type === 'DELETED' ? undefined : `${endpointsFingerprint(endpointsInForce(cluster))} ${isConfirmed}`;
      // Most changes are of a status.
      if (known.get(name) !== endpoints) wakeup.set();
      if (endpoints === undefined) known.delete(name);
      else known.set(name, endpoints);
    }
  }).finally(() => ended.abort());
  following.catch(() => undefined);
  let last = '';
  for (let isRepeated = false; !ended.signal.aborted; isRepeated = true) {
    wakeup.reset();
    const text = await writtenText(context, (silent) => write(silent, isRepeated));
    if (text !== last) context.err.write(text);
    last = text;
    await wakeup.wait(MAX_WAIT_MS, ended.signal);
    await pause(SETTLE_MS);
  }
  return (await following).failed.length === 0 ? 0 : 1;
}

/** What a run has to say: the same problem is not repeated after each change. A server may be down for a while. */
async function writtenText(context: Context, run: (context: Context) => Promise<unknown>): Promise<string> {
  let text = '';
  const write = (more: string): void => {
    text += more;
  };
  try {
    await run({ ...context, err: { ...context.err, write } });
  } catch (error) {
    const problem = describeError(error);
    if (problem === undefined) throw error;
    write(`${problem}\n`);
  }
  return text;
}

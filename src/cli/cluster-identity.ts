import type { Transport } from '../client/transport.ts';
import { terminalSafe } from '../lib/text.ts';
import type { Context } from './command.ts';

/** The UID of the namespace kube-system: it is unique, and the namespace exists as long as the cluster. */
export async function clusterIdentity(cluster: Pick<Transport, 'request'>, signal?: AbortSignal): Promise<string> {
  const path = '/api/v1/namespaces/kube-system';
  const { metadata } = (await cluster.request<{ metadata?: { uid?: unknown } }>('GET', path, { signal })).value;
  const uid = metadata?.uid;
  if (typeof uid !== 'string' || !/^[\w.-]{1,128}$/.test(uid)) throw new Error('it has no UID');
  return uid;
}

/** The UID of kube-system; undefined, with a warning, if it cannot be read: a cluster can be registered without it. */
export async function readIdentity(context: Context, cluster: Pick<Transport, 'request'>): Promise<string | undefined> {
  try {
    return await clusterIdentity(cluster);
  } catch (error) {
    const why = terminalSafe((error as Error).message);
    context.err.write(`Warning: cannot read the identity of the cluster (namespace kube-system): ${why}\n`);
    return undefined;
  }
}

import type { Transport } from '../client/transport.ts';
import { terminalSafe } from '../lib/text.ts';
import { clusterIdentity } from '../sync/cluster-identity.ts';
import type { Context } from './command.ts';

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

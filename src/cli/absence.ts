import type { Kind } from '../api/kind.ts';
import type { Client } from '../client/create-client.ts';
import { isStatus, type StatusError } from '../client/errors.ts';
import { clusterPath } from './clusters.ts';
import type { ObjectScope } from './object-path.ts';

/** The 404 for an object; undefined also for callers who may not get it (403), and learn nothing about it. */
export async function absenceOf(client: Client, path: string): Promise<StatusError | undefined> {
  try {
    await client.request('GET', path);
  } catch (error) {
    if (isStatus(error, 404)) return error;
    if (!isStatus(error, 403)) throw error;
  }
  return undefined;
}

/** For an empty list: in a cluster that does not exist the server lists nothing, as Kubernetes in such a namespace. */
export async function requireCluster(client: Client, { inCluster }: Kind, { cluster }: ObjectScope): Promise<void> {
  if (!inCluster || cluster === undefined) return;
  const absent = await absenceOf(client, clusterPath(cluster));
  if (absent !== undefined) throw absent;
}

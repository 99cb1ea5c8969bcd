import type { Client } from '../../../src/client/index.ts';
import { clusterPath } from './cluster-path.ts';

interface ShownCluster {
  readonly name: string;
  readonly uid: string;
}

/** With the UID: another cluster may have been registered under this name since. */
export async function deleteCluster(client: Client, { name, uid }: ShownCluster): Promise<void> {
  await client.request('DELETE', clusterPath(name), {
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
  });
}

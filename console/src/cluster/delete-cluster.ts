import type { Client } from '../../../src/client/index.ts';

interface ShownCluster {
  readonly name: string;
  readonly uid: string;
}

/** With the UID: another cluster may have been registered under this name since. */
export async function deleteCluster(client: Client, { name, uid }: ShownCluster): Promise<void> {
  await client.request('DELETE', `/apis/clusterregistry.k8s.io/v1alpha1/clusters/${encodeURIComponent(name)}`, {
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
  });
}

import { expect, it } from 'vitest';
import type { Client } from '../../../src/client/index.ts';
import { deleteCluster } from './delete-cluster.ts';

it('deletes the cluster that was shown, not a later one of its name', async () => {
  const sent: unknown[] = [];
  const client = { request: async (...call: unknown[]) => sent.push(call) } as unknown as Client;
  await deleteCluster(client, { name: 'alpha', uid: 'u-1' });
  const path = '/apis/clusterregistry.k8s.io/v1alpha1/clusters/alpha';
  expect(sent).toEqual([['DELETE', path, { body: expect.objectContaining({ preconditions: { uid: 'u-1' } }) }]]);
});

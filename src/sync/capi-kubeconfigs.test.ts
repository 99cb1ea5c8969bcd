import { expect, it } from 'vitest';
import type { Transport } from '../client/transport.ts';
import { capiKubeconfigs } from './capi-kubeconfigs.ts';

const MINUTE = 60_000;

const kubeconfig = (server: string): string =>
  JSON.stringify({
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a' } }],
    clusters: [{ name: 'a', cluster: { server, 'certificate-authority-data': 'Q0E=' } }],
  });

const cluster = (uid: string, resourceVersion: string) => ({
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  metadata: { namespace: 'fleet', name: 'a', uid, resourceVersion },
});

it('CP-91: reads a Secret again for another version, for another cluster of the name, and after ten minutes', async () => {
  let reads = 0;
  let now = 1;
  const request = async (_: string, path: string) => {
    expect(path).toBe('/api/v1/namespaces/fleet/secrets/a-kubeconfig');
    const value = Buffer.from(kubeconfig(`https://10.0.0.${++reads}:6443`)).toString('base64');
    const metadata = { labels: { 'cluster.x-k8s.io/cluster-name': 'a' } };
    return { value: { type: 'cluster.x-k8s.io/secret', metadata, data: { value } } };
  };
  const read = capiKubeconfigs({ request } as unknown as Transport, () => now);
  const readAddress = async (uid: string, version: string) =>
    ((await read(cluster(uid, version))) as { server: string }).server;
  expect(await readAddress('x', '1')).toBe('https://10.0.0.1:6443');
  now += 9 * MINUTE;
  expect(await readAddress('x', '1')).toBe('https://10.0.0.1:6443');
  expect(await readAddress('x', '2')).toBe('https://10.0.0.2:6443');
  expect(await readAddress('y', '2')).toBe('https://10.0.0.3:6443');
  now += 11 * MINUTE;
  expect(await readAddress('x', '2')).toBe('https://10.0.0.4:6443');
});

it.each([
  ['is of another type', { type: 'Opaque' }],
  ['is of no type', { type: undefined }],
  ['is of another cluster', { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'b' } } }],
  ['names no cluster', { metadata: {} }],
  ['is empty', { data: {} }],
])('CP-91: a Secret that %s has no address, and is read again', async (_, changes) => {
  const right = {
    type: 'cluster.x-k8s.io/secret',
    metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'a' } },
    data: { value: Buffer.from(kubeconfig('https://10.0.0.1:6443')).toString('base64') },
  };
  let secret: object = { ...right, ...changes };
  const request = async () => ({ value: secret });
  const read = capiKubeconfigs({ request } as unknown as Transport, () => 1);
  const problem = 'the Secret a-kubeconfig has no kubeconfig of the cluster';
  expect(await read(cluster('x', '1'))).toEqual({ problem, state: 'failed' });
  secret = right;
  expect(await read(cluster('x', '1'))).toEqual({ server: 'https://10.0.0.1:6443', caBundle: 'Q0E=' });
});

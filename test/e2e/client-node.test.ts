import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { CustomObjectsApi, KubeConfig, type KubernetesObject, Watch as WatchClient } from '@kubernetes/client-node';
import { beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { createNodeFetch } from '../../src/client/node.ts';
import { addCluster } from './support/fleet.ts';
import { createObjects } from './support/objects.ts';
import { TLS } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';

const GROUP = { group: 'clusterregistry.k8s.io', version: 'v1alpha1', plural: 'clusters' };
const COLLECTION = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';

const server = sharedTlsServer();

beforeAll(async () => {
  await createObjects(server);
  for (let count = 0; count < 10; count++) await addCluster(server, `more-${count}`);
});

/** A kubeconfig as a person would write it, for the fleet or for one cluster. */
function configFor(path = ''): KubeConfig {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'fleet', server: `${server.url}${path}`, caFile: TLS.caFile }],
    users: [{ name: 'caller', token: server.adminToken }],
    contexts: [{ name: 'fleet', cluster: 'fleet', user: 'caller' }],
    currentContext: 'fleet',
  });
  return config;
}

const cluster = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name, labels },
});

interface ClusterPage {
  items: KubernetesObject[];
  metadata: { continue: string; resourceVersion: string; remainingItemCount?: number };
}

describe('the official JavaScript client', () => {
  it('lists page by page', async () => {
    const custom = configFor().makeApiClient(CustomObjectsApi);
    const names: string[] = [];
    const versions = new Set<string>();
    let next: string | undefined;
    do {
      const page = (await custom.listClusterCustomObject({
        ...GROUP,
        limit: 5,
        ...(next === undefined ? {} : { _continue: next }),
      })) as ClusterPage;
      names.push(...page.items.map((item) => item.metadata?.name ?? ''));
      versions.add(page.metadata.resourceVersion);
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    } while (next !== undefined);
    expect(names).toHaveLength(12);
    expect(names).toEqual([...names].sort());
    expect(versions.size).toBe(1);
  });

  it('creates, patches and deletes clusters', async () => {
    const custom = configFor().makeApiClient(CustomObjectsApi);
    await custom.createClusterCustomObject({ ...GROUP, body: cluster('made-by-client') });
    const read = (await custom.getClusterCustomObject({ ...GROUP, name: 'made-by-client' })) as KubernetesObject;
    expect(read.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
    await custom.deleteClusterCustomObject({ ...GROUP, name: 'made-by-client' });
    await expect(custom.getClusterCustomObject({ ...GROUP, name: 'made-by-client' })).rejects.toMatchObject({
      code: 404,
    });
  });

  it('watches', async () => {
    const seen: string[] = [];
    const enough = Promise.withResolvers<void>();
    const controller = await new WatchClient(configFor()).watch(
      COLLECTION,
      { fieldSelector: 'metadata.name=watched' },
      (type: string, object: KubernetesObject) => {
        seen.push(`${type} ${object.metadata?.name}`);
        if (type === 'DELETED') enough.resolve();
      },
      () => {},
    );
    await server.call('POST', COLLECTION, { body: cluster('watched') });
    await server.call('PATCH', `${COLLECTION}/watched`, {
      body: { metadata: { labels: { a: 'b' } } },
    });
    await server.call('DELETE', `${COLLECTION}/watched`);
    await enough.promise;
    controller.abort();
    // The second change marks it as being deleted, while its objects are deleted.
    expect(seen).toEqual(['ADDED watched', 'MODIFIED watched', 'MODIFIED watched', 'DELETED watched']);
  });
});

it('createNodeFetch trusts the given certificate authority only', async () => {
  const ca = await readFile(TLS.caFile, 'utf8');
  const list = async (options: Parameters<typeof createNodeFetch>[0]): Promise<string[]> => {
    const client = createClient({ server: server.url, token: server.adminToken, fetch: createNodeFetch(options) });
    return (await client.listClusters()).items.map(({ metadata }) => metadata.name);
  };
  expect(await list({ ca })).toContain('alpha');
  expect(await list({ insecureSkipTlsVerify: true })).toContain('alpha');
  await expect(list({ ca: rootCertificates[0] ?? '' })).rejects.toThrow(/cannot be reached/);
});

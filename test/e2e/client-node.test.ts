import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import {
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
  Watch as WatchClient,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { createNodeFetch } from '../../src/client/node.ts';
import { addCluster, grantClusters, rebind, relabel, removeCluster, touch, unbind } from './support/fleet.ts';
import { createObjects } from './support/objects.ts';
import { type Server, startServer, TLS, tokenOf } from './support/server.ts';
import { beforeAllWithTlsServer } from './support/shared-server.ts';

const GROUP = { group: 'clusterregistry.k8s.io', version: 'v1alpha1', plural: 'clusters' };
const COLLECTION = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';

let server: Server;

beforeAllWithTlsServer(async (shared) => {
  server = shared;
  await createObjects(server);
  for (let count = 0; count < 10; count++) await addCluster(server, `more-${count}`);
});

/** A kubeconfig as a person would write it, for the fleet or for one cluster. */
function configFor(path = '', at: Server = server, token = at.adminToken): KubeConfig {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'fleet', server: `${at.url}${path}`, caFile: TLS.caFile }],
    users: [{ name: 'caller', token }],
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
  it('creates a token', async () => {
    const core = configFor('/orchestrator/alpha').makeApiClient(CoreV1Api);
    const answer = await core.createNamespacedServiceAccountToken({
      name: 'builder',
      namespace: 'ci',
      body: { spec: { audiences: ['vault'], expirationSeconds: 600 } },
    });
    expect(answer.status?.token).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
    const [from, to] = [answer.metadata?.creationTimestamp, answer.status?.expirationTimestamp];
    expect(Number(to) - Number(from)).toBe(600_000);
  });

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
      headers: { 'Content-Type': 'application/merge-patch+json' },
    });
    await server.call('DELETE', `${COLLECTION}/watched`);
    await enough.promise;
    controller.abort();
    // The second change marks it as being deleted, while its objects are deleted.
    expect(seen).toEqual(['ADDED watched', 'MODIFIED watched', 'MODIFIED watched', 'DELETED watched']);
  });
});

describe('an informer of the official JavaScript client', () => {
  const HISTORY = 20;
  let fleet: Server;

  beforeAll(async () => {
    fleet = await startServer({ tls: true, users: { jane: [] }, args: ['--history-revisions', String(HISTORY)] });
    await addCluster(fleet, 'dev-1', { labels: { env: 'dev' } });
    await addCluster(fleet, 'prod-1', { labels: { env: 'prod' } });
  });
  afterAll(() => fleet.destroy());

  it('follows changes of permissions with the watch that it opened', async () => {
    await grantClusters(fleet, 'jane-sees', 'jane', { clusters: 'env=dev' });
    const { informer, lists, told } = clusterInformer(fleet, tokenOf('jane'));
    await informer.start();
    await told('add dev-1');
    await rebind(fleet, 'jane-sees', 'env in (dev,prod)');
    await told('add prod-1');
    await rebind(fleet, 'jane-sees', 'env=prod');
    await told('delete dev-1');
    expect(known(informer)).toEqual(['prod-1']);
    await relabel(fleet, 'prod-1', { env: 'retired' });
    await told('delete prod-1');
    await relabel(fleet, 'prod-1', { env: 'prod' });
    await told('add prod-1');
    await unbind(fleet, 'jane-sees');
    await told('delete prod-1');
    expect(known(informer)).toEqual([]);
    expect(lists()).toBe(1);
    await informer.stop();
  });

  it('V-10: lists again by itself when its version is too old (410), and misses nothing', async () => {
    const { informer, lists, told } = clusterInformer(fleet);
    const broken = new Promise<unknown>((resolve) => informer.on('error', resolve));
    await informer.start();
    await told('add dev-1');
    expect(await fleet.stop()).toBe(0);
    // No server answers until the restart below, so this comes before it.
    await broken;
    fleet = await fleet.restart();
    await addCluster(fleet, 'dev-2');
    await removeCluster(fleet, 'dev-1');
    for (let count = 0; count < 2 * HISTORY; count++) await touch(fleet, 'prod-1', `change ${count}`);
    expect(lists()).toBe(1);
    // It resumes from its last version. Only the server's 410 makes it list again.
    await informer.start();
    await told('delete dev-1');
    await told('add dev-2');
    expect(lists()).toBe(2);
    expect(known(informer)).toEqual(['dev-2', 'prod-1']);
    expect(informer.get('prod-1')?.metadata?.annotations).toEqual({ note: `change ${2 * HISTORY - 1}` });
    // And the watch after that is alive.
    await addCluster(fleet, 'dev-3');
    await told('add dev-3');
    await informer.stop();
  });
});

type ClusterInformer = ReturnType<typeof makeInformer<KubernetesObject>>;

const known = (informer: ClusterInformer): string[] =>
  informer
    .list()
    .map(({ metadata }) => metadata?.name ?? '')
    .sort();

function clusterInformer(at: Server = server, token?: string) {
  const config = configFor('', at, token);
  const custom = config.makeApiClient(CustomObjectsApi);
  let lists = 0;
  const informer = makeInformer<KubernetesObject>(config, COLLECTION, async () => {
    lists += 1;
    return (await custom.listClusterCustomObject(GROUP)) as KubernetesListObject<KubernetesObject>;
  });
  return { informer, lists: () => lists, told: listener(informer) };
}

/** Resolves when the informer has reported this (`add dev-1`) since the last call for it. */
function listener(informer: ClusterInformer): (what: string) => Promise<void> {
  const untaken: string[] = [];
  let wake = (): void => {};
  for (const verb of ['add', 'delete'] as const) {
    informer.on(verb, ({ metadata }) => {
      untaken.push(`${verb} ${metadata?.name}`);
      wake();
    });
  }
  return async (what) => {
    while (!untaken.includes(what)) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    untaken.splice(untaken.indexOf(what), 1);
  };
}

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

import {
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addCluster,
  grantClusters,
  patchCluster,
  rebind,
  relabel,
  revisionNow,
  touch,
  unbind,
} from './support/fleet.ts';
import { describeWithKubectl, kubectl, kubectlOk } from './support/kubectl.ts';
import { type Answer, type Server, startServer, TLS, tokenOf } from './support/server.ts';
import { Watch, type WatchEvent } from './support/watch.ts';

/** Clusters as ClusterProfiles of the Cluster Inventory API. */

const GROUP = '/apis/multicluster.x-k8s.io';
const V1 = `${GROUP}/v1alpha1`;
const USERS = ['jane', 'joe', 'mary', 'max', 'nobody'];
let server: Server;

const endpoints = (name: string) => ({
  orchestratorApiEndpoints: {
    serverEndpoints: [
      { clientCIDR: '192.0.2.0/24', serverAddress: `https://${name}.elsewhere.example.com:6443` },
      { clientCIDR: '127.0.0.0/8', serverAddress: `https://${name}.example.com:6443` },
    ],
  },
});

beforeAll(async () => {
  const args = ['--inventory-namespace', 'default', '--inventory-namespace', 'prod=env=prod', '--inventory-manager'];
  server = await startServer({
    tls: true,
    users: Object.fromEntries(USERS.map((name) => [name, []])),
    args: [...args, 'fleet-1', '--inventory-property', 'env'],
  });
  await addCluster(server, 'dev-1', { labels: { env: 'dev' }, spec: endpoints('dev-1') });
  await addCluster(server, 'prod-1', { labels: { env: 'prod' }, spec: endpoints('prod-1') });
});
afterAll(() => server.destroy());

const get = (path: string, user?: string): Promise<Answer> =>
  server.call('GET', path, user === undefined ? {} : { token: tokenOf(user) });

const namesIn = ({ json }: Answer): string[] =>
  json.items.map(({ metadata }: { metadata: { namespace: string; name: string } }) => placeOf(metadata));
const placeOf = ({ namespace, name }: { namespace: string; name: string }): string => `${namespace}/${name}`;

const setStatus = async (name: string, condition: object): Promise<void> => {
  const headers = { 'Content-Type': 'application/merge-patch+json' };
  const body = { status: { version: 'v1.36.4', conditions: [{ type: 'Ready', ...condition }] } };
  const path = `/apis/clusterregistry.k8s.io/v1alpha1/clusters/${name}/status`;
  expect((await server.call('PATCH', path, { body, headers })).code).toBe(200);
};

const brief = ({ type, object }: WatchEvent): string =>
  type === 'BOOKMARK' ? type : `${type} ${placeOf(object.metadata)}`;

describe('cluster profiles', () => {
  it('CP-60, CP-62: are served in both versions, in each namespace and across namespaces', async () => {
    for (const version of ['v1alpha1', 'v1alpha2']) {
      const all = await get(`${GROUP}/${version}/clusterprofiles`);
      expect(all.json).toMatchObject({ apiVersion: `multicluster.x-k8s.io/${version}`, kind: 'ClusterProfileList' });
      expect(namesIn(all)).toEqual(['default/dev-1', 'default/prod-1', 'prod/prod-1']);
      expect(namesIn(await get(`${GROUP}/${version}/namespaces/prod/clusterprofiles`))).toEqual(['prod/prod-1']);
    }
    const { json } = await get(`${V1}/namespaces/prod/clusterprofiles/prod-1`);
    expect(json).toMatchObject({
      apiVersion: 'multicluster.x-k8s.io/v1alpha1',
      metadata: { namespace: 'prod', labels: { env: 'prod', 'x-k8s.io/cluster-manager': 'fleet-1' } },
      status: {
        properties: [{ name: 'env', value: 'prod' }],
        accessProviders: [{ name: 'clusterpass', cluster: { server: 'https://prod-1.example.com:6443' } }],
      },
    });
    expect((await get(`${V1}/namespaces/prod/clusterprofiles/prod-1/status`)).json).toEqual(json);
    const other = (await get(`${V1}/namespaces/default/clusterprofiles/prod-1`)).json;
    expect(other.metadata.uid).not.toBe(json.metadata.uid);
  });

  it('CP-60: are in discovery and OpenAPI, with the verbs that read', async () => {
    const { json } = await get('/apis/multicluster.x-k8s.io');
    expect([json.versions.map(({ version }: { version: string }) => version), json.preferredVersion.version]).toEqual([
      ['v1alpha2', 'v1alpha1'],
      'v1alpha2',
    ]);
    const { resources } = (await get(V1)).json;
    expect(resources.map(({ name, namespaced, verbs }: Record<string, unknown>) => [name, namespaced, verbs])).toEqual([
      ['clusterprofiles', true, ['get', 'list', 'watch']],
      ['clusterprofiles/status', true, ['get']],
    ]);
    const { paths } = (await get('/openapi/v3/apis/multicluster.x-k8s.io/v1alpha1')).json;
    expect(Object.keys(paths[`${V1}/namespaces/{namespace}/clusterprofiles/{name}`])).toEqual(['get', 'parameters']);
    expect((await get('/orchestrator/dev-1/apis/multicluster.x-k8s.io/v1alpha1')).code).toBe(404);
  });

  it('CP-60: cannot be written', async () => {
    const item = `${V1}/namespaces/default/clusterprofiles/dev-1`;
    const body = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile', metadata: { name: 'x' } };
    for (const [method, path] of [
      ['POST', `${V1}/namespaces/default/clusterprofiles`],
      ['DELETE', `${V1}/namespaces/default/clusterprofiles`],
      ['PUT', item],
      ['PATCH', item],
      ['DELETE', item],
      ['PUT', `${item}/status`],
    ] as const) {
      const answer = await server.call(method, path, { body });
      const seen = [answer.code, answer.json.reason, answer.headers.get('allow')];
      expect(seen, `${method} ${path}`).toEqual([405, 'MethodNotAllowed', 'GET']);
      expect((await server.call(method, path, { body, token: tokenOf('nobody') })).code).toBe(403);
    }
    expect((await get(item)).code).toBe(200);
  });

  it('CP-61: are visible exactly where the cluster is', async () => {
    expect(namesIn(await get(`${V1}/clusterprofiles`, 'nobody'))).toEqual([]);
    const refused = await get(`${V1}/namespaces/default/clusterprofiles/dev-1`, 'nobody');
    expect([refused.code, refused.json.details.kind]).toEqual([403, 'clusters']);
    expect((await get(`${V1}/namespaces/none/clusterprofiles`)).json.items).toEqual([]);
    expect((await get(`${V1}/namespaces/none/clusterprofiles/dev-1`)).code).toBe(404);
    await grantClusters(server, 'joe-sees', 'joe', { clusters: 'env=prod' });
    expect(namesIn(await get(`${V1}/clusterprofiles`, 'joe'))).toEqual(['default/prod-1', 'prod/prod-1']);
    expect((await get(`${V1}/namespaces/default/clusterprofiles/prod-1`, 'joe')).code).toBe(200);
    expect((await get(`${V1}/namespaces/default/clusterprofiles/dev-1`, 'joe')).code).toBe(403);
    await grantClusters(server, 'mary-sees', 'mary', { names: ['dev-1'] });
    expect(namesIn(await get(`${V1}/clusterprofiles`, 'mary'))).toEqual(['default/dev-1']);
    const review = {
      spec: { resourceAttributes: { verb: 'get', group: 'multicluster.x-k8s.io', namespace: 'default' } },
    };
    const allowed = async (name: string): Promise<boolean> => {
      Object.assign(review.spec.resourceAttributes, { resource: 'clusterprofiles', name });
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      return (await server.call('POST', path, { body: review, token: tokenOf('mary') })).json.status.allowed;
    };
    expect([await allowed('dev-1'), await allowed('prod-1')]).toEqual([true, false]);
  });

  it('have pages, selectors, tables and metadata', async () => {
    const pages: string[][] = [];
    let next = '';
    do {
      const page = await get(`${V1}/clusterprofiles?limit=1&continue=${encodeURIComponent(next)}`);
      pages.push([...namesIn(page), String(page.json.metadata.remainingItemCount ?? 0)]);
      next = page.json.metadata.continue;
    } while (next !== '');
    expect(pages).toEqual([
      ['default/dev-1', '2'],
      ['default/prod-1', '1'],
      ['prod/prod-1', '0'],
    ]);
    const selected = async (query: string) => namesIn(await get(`${V1}/clusterprofiles?${query}`));
    expect(await selected('labelSelector=env%3Ddev')).toEqual(['default/dev-1']);
    expect(await selected('labelSelector=x-k8s.io/cluster-manager%3Dfleet-1,env%3Dprod')).toHaveLength(2);
    expect(await selected('labelSelector=x-k8s.io/cluster-manager%3Dother')).toEqual([]);
    expect(await selected('fieldSelector=metadata.namespace%3Dprod')).toEqual(['prod/prod-1']);
    expect(await selected('fieldSelector=metadata.name%3Dprod-1')).toEqual(['default/prod-1', 'prod/prod-1']);
    const Accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
    const { json } = await server.call('GET', `${V1}/clusterprofiles`, { headers: { Accept } });
    expect([json.kind, json.items[0].metadata.namespace]).toEqual(['PartialObjectMetadataList', 'default']);
  });

  it('CP-63: a watch gets changes that profiles show, and none of the others', async () => {
    const watch = await Watch.open(server, `${V1}/namespaces/default/clusterprofiles?watch=true`);
    expect((await watch.take(2)).map(brief)).toEqual(['ADDED default/dev-1', 'ADDED default/prod-1']);
    const condition = { status: 'True', reason: 'Probed', lastTransitionTime: '2026-01-01T00:00:00Z' };
    await setStatus('dev-1', { ...condition, lastHeartbeatTime: '2026-01-01T00:00:00Z' });
    const [changed] = await watch.take(1);
    expect(changed?.object.status.conditions[0]).toMatchObject({ type: 'ControlPlaneHealthy', status: 'True' });
    await setStatus('dev-1', { ...condition, lastHeartbeatTime: '2026-01-01T00:00:30Z' });
    await touch(server, 'dev-1', 'an annotation');
    await patchCluster(server, 'dev-1', { spec: { authInfo: { user: { name: 'hidden' } } } });
    await relabel(server, 'dev-1', { note: 'shown' });
    const [next] = await watch.take(1);
    expect(next?.object.metadata.labels.note).toBe('shown');
    watch.close();
  });

  it('decision 13: a watch follows permission and labels, and resumes over both', async () => {
    await grantClusters(server, 'max-sees', 'max', { clusters: 'env=dev' });
    const start = await revisionNow(server);
    const path = `${V1}/clusterprofiles?watch=true&allowWatchBookmarks=true&resourceVersion=${start}`;
    const watch = await Watch.open(server, path, tokenOf('max'));
    await rebind(server, 'max-sees', 'env in (dev,prod)');
    const gained = ['ADDED default/prod-1', 'ADDED prod/prod-1', 'BOOKMARK'];
    expect((await watch.take(3)).map(brief)).toEqual(gained);
    await relabel(server, 'prod-1', { env: 'dev' });
    const moved = ['MODIFIED default/prod-1', 'DELETED prod/prod-1'];
    expect((await watch.take(2)).map(brief)).toEqual(moved);
    await relabel(server, 'prod-1', { env: 'prod' });
    expect((await watch.take(2)).map(brief)).toEqual(['MODIFIED default/prod-1', 'ADDED prod/prod-1']);
    await unbind(server, 'max-sees');
    const lost = await watch.take(4);
    expect(lost.map(brief)).toEqual([
      'DELETED default/dev-1',
      'DELETED default/prod-1',
      'DELETED prod/prod-1',
      'BOOKMARK',
    ]);
    expect(Object.keys(lost[0]?.object)).toEqual(['apiVersion', 'kind', 'metadata']);
    watch.close();
    // A client that resumes gets no content that it may no longer see.
    const again = await Watch.open(server, path, tokenOf('max'));
    const events = await again.until(({ type }) => type === 'BOOKMARK');
    expect(events.filter(({ type }) => type === 'ADDED' || type === 'MODIFIED')).toEqual([]);
    again.close();
  });
});

describe('an informer of the official JavaScript client', () => {
  it('CP-61: follows changes of permissions with the watch that it opened', async () => {
    await grantClusters(server, 'jane-sees', 'jane', { clusters: 'env=dev' });
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: 'fleet', server: server.url, caFile: TLS.caFile }],
      users: [{ name: 'jane', token: tokenOf('jane') }],
      contexts: [{ name: 'fleet', cluster: 'fleet', user: 'jane' }],
      currentContext: 'fleet',
    });
    const custom = config.makeApiClient(CustomObjectsApi);
    let lists = 0;
    const informer = makeInformer<KubernetesObject>(config, `${V1}/clusterprofiles`, async () => {
      lists += 1;
      const of = { group: 'multicluster.x-k8s.io', version: 'v1alpha1', plural: 'clusterprofiles' };
      return (await custom.listClusterCustomObject(of)) as KubernetesListObject<KubernetesObject>;
    });
    const known = (): string[] =>
      informer
        .list()
        .map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`)
        .sort();
    await informer.start();
    await expect.poll(known).toEqual(['default/dev-1']);
    await rebind(server, 'jane-sees', 'env in (dev,prod)');
    await expect.poll(known).toEqual(['default/dev-1', 'default/prod-1', 'prod/prod-1']);
    await rebind(server, 'jane-sees', 'env=prod');
    await expect.poll(known).toEqual(['default/prod-1', 'prod/prod-1']);
    await unbind(server, 'jane-sees');
    await expect.poll(known).toEqual([]);
    expect(lists).toBe(1);
    await informer.stop();
  });
});

describeWithKubectl('kubectl', () => {
  it('CP-60: get -A, -o yaml, explain', async () => {
    const table = await kubectlOk(server, ['get', 'clusterprofiles', '-A']);
    const [header = '', ...rows] = table.trim().split('\n');
    const columns = ['NAMESPACE', 'NAME', 'DISPLAY NAME', 'MANAGER', 'VERSION', 'HEALTHY', 'AGE'];
    expect(header.split(/\s{2,}/)).toEqual(columns);
    expect(rows.map((row) => row.split(/\s+/).slice(0, 4))).toEqual([
      ['default', 'dev-1', 'dev-1', 'fleet-1'],
      ['default', 'prod-1', 'prod-1', 'fleet-1'],
      ['prod', 'prod-1', 'prod-1', 'fleet-1'],
    ]);
    const yaml = await kubectlOk(server, ['get', 'clusterprofile', 'prod-1', '-n', 'prod', '-o', 'yaml']);
    expect(yaml).toContain('apiVersion: multicluster.x-k8s.io/v1alpha2');
    expect(yaml).toContain('clusterName: prod-1');
    const explained = await kubectlOk(server, ['explain', 'clusterprofile.status.accessProviders', '--recursive']);
    expect(explained).toContain('certificate-authority-data\t<string>');
    expect(explained).toContain('extensions\t<[]Object>');
    expect(explained).not.toMatch(/<no description>|<empty>/);
  });

  it('CP-60: get -w, and refused writes', async () => {
    let isChanged = false;
    const { stdout } = await kubectl(server, ['get', 'clusterprofiles', '-n', 'prod', '-w', '-L', 'seen'], {
      until: (text) => {
        if (!isChanged && text.includes('prod-1')) {
          isChanged = true;
          void relabel(server, 'prod-1', { seen: 'changed' });
        }
        return text.includes('changed');
      },
    });
    expect(stdout.match(/^prod-1 /gm)).toHaveLength(2);
    const { code, stderr } = await kubectl(server, ['label', 'clusterprofile', 'prod-1', '-n', 'prod', 'a=b']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('MethodNotAllowed')]);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { addCluster, grantClusters } from './support/fleet.ts';
import { describeWithKubectl, kubectlOk } from './support/kubectl.ts';
import { type Answer, tokenOf } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/** Clusters as ClusterProfiles of the Cluster Inventory API. */

const GROUP = '/apis/multicluster.x-k8s.io';
const V1 = `${GROUP}/v1alpha1`;
const server = sharedTlsServer();

const endpoints = (name: string) => ({
  orchestratorApiEndpoints: {
    serverEndpoints: [
      { clientCIDR: '192.0.2.0/24', serverAddress: `https://${name}.elsewhere.example.com:6443` },
      { clientCIDR: '127.0.0.0/8', serverAddress: `https://${name}.example.com:6443` },
    ],
  },
});

beforeAll(async () => {
  await addCluster(server, 'dev-1', { labels: { env: 'dev' }, spec: endpoints('dev-1') });
  await addCluster(server, 'prod-1', { labels: { env: 'prod' }, spec: endpoints('prod-1') });
});

const get = (path: string, user?: string): Promise<Answer> =>
  server.call('GET', path, user === undefined ? {} : { token: tokenOf(user) });

const namesIn = ({ json }: Answer): string[] =>
  json.items.map(({ metadata }: { metadata: { namespace: string; name: string } }) => placeOf(metadata));
const placeOf = ({ namespace, name }: { namespace: string; name: string }): string => `${namespace}/${name}`;

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
    await grantClusters(server, 'mallory-sees', 'mallory', { names: ['dev-1'] });
    expect(namesIn(await get(`${V1}/clusterprofiles`, 'mallory'))).toEqual(['default/dev-1']);
    const review = {
      spec: { resourceAttributes: { verb: 'get', group: 'multicluster.x-k8s.io', namespace: 'default' } },
    };
    const allowed = async (name: string): Promise<boolean> => {
      Object.assign(review.spec.resourceAttributes, { resource: 'clusterprofiles', name });
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      return (await server.call('POST', path, { body: review, token: tokenOf('mallory') })).json.status.allowed;
    };
    expect([await allowed('dev-1'), await allowed('prod-1')]).toEqual([true, false]);
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
});

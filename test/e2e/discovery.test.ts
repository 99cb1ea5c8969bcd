import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer({ users: { jane: [] } });
});
afterAll(() => server.destroy());

const CLUSTER = '/orchestrator/nowhere';
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
/** X-03: what kubectl sends. */
const KUBECTL_ACCEPT = `${AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json`;

const get = (path: string, headers: Record<string, string> = {}) =>
  server.call('GET', path, { token: tokenOf('jane'), headers });

const BUILTIN_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

describe('legacy', () => {
  it('X-07: /api', async () => {
    const fleet = await get('/api');
    expect([fleet.code, fleet.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(fleet.json).toEqual({ kind: 'APIVersions', versions: [], serverAddressByClientCIDRs: [] });
    expect((await get(`${CLUSTER}/api`)).json.versions).toEqual(['v1']);
  });

  it('X-07: /apis and each of its groups', async () => {
    const { json } = await get('/apis');
    expect(Object.keys(json)).toEqual(['kind', 'apiVersion', 'groups']);
    expect(json).toMatchObject({ kind: 'APIGroupList', apiVersion: 'v1' });
    const version = { groupVersion: 'clusterregistry.k8s.io/v1alpha1', version: 'v1alpha1' };
    const registry = { name: 'clusterregistry.k8s.io', versions: [version], preferredVersion: version };
    expect(json.groups).toContainEqual(registry);
    expect(json.groups.map(({ name }: { name: string }) => name)).toContain('rbac.authorization.k8s.io');
    expect((await get('/apis/clusterregistry.k8s.io')).json).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      ...registry,
    });
  });

  it('X-07, X-09: the resources of the registry, with their hash', async () => {
    const storageVersionHash = createHash('sha256')
      .update('clusterregistry.k8s.io/v1alpha1/Cluster')
      .digest()
      .subarray(0, 8)
      .toString('base64');
    expect((await get('/apis/clusterregistry.k8s.io/v1alpha1')).json).toEqual({
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: 'clusterregistry.k8s.io/v1alpha1',
      resources: [
        {
          name: 'clusters',
          singularName: 'cluster',
          namespaced: false,
          kind: 'Cluster',
          verbs: CUSTOM_VERBS,
          storageVersionHash,
        },
        {
          name: 'clusters/status',
          singularName: '',
          namespaced: false,
          kind: 'Cluster',
          verbs: ['get', 'patch', 'update'],
        },
      ],
    });
  });

  it('X-07, X-08: the resources inside of a cluster; the list of the core group has no apiVersion', async () => {
    const { json } = await get(`${CLUSTER}/api/v1`);
    expect(Object.keys(json)).toEqual(['kind', 'groupVersion', 'resources']);
    expect(json.resources.map(({ name }: { name: string }) => name)).toEqual([
      'namespaces',
      'namespaces/status',
      'pods',
      'secrets',
      'serviceaccounts',
      'serviceaccounts/token',
    ]);
    // As kube-apiserver has it, hash included.
    expect(json.resources[0]).toEqual({
      name: 'namespaces',
      singularName: 'namespace',
      namespaced: false,
      kind: 'Namespace',
      verbs: BUILTIN_VERBS.filter((verb) => verb !== 'deletecollection'),
      shortNames: ['ns'],
      storageVersionHash: 'Q3oi5N2YM8M=',
    });
    expect(JSON.stringify(json.resources.at(-1))).toBe(
      '{"name":"serviceaccounts/token","singularName":"","namespaced":true,"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest","verbs":["create"]}',
    );
  });

  it.each([
    '/api/v1',
    '/apis/nothing',
    '/apis/clusterregistry.k8s.io/v1',
    `${CLUSTER}/apis/rbac.authorization.k8s.io/v1`,
  ])('%s is not served here: 404', async (path) => {
    expect((await get(path)).code).toBe(404);
  });

  it('is also YAML, and indented for people', async () => {
    const yaml = await get('/apis', { Accept: 'application/yaml' });
    expect(yaml.headers.get('content-type')).toBe('application/yaml');
    expect(yaml.text).toMatch(/^kind: APIGroupList$/m);
    expect((await get('/apis', { 'User-Agent': 'curl/8' })).text).toMatch(/^\{\n {2}"kind": "APIGroupList"/);
  });
});

describe('aggregated', () => {
  it('X-03, X-04, X-05, X-06: everything of the fleet in two documents', async () => {
    for (const path of ['/api', '/apis']) {
      const { code, headers, text } = await get(path, { Accept: KUBECTL_ACCEPT });
      expect([code, headers.get('content-type'), headers.get('vary'), headers.get('cache-control')]).toEqual([
        200,
        AGGREGATED,
        'Accept',
        'public',
      ]);
      expect(headers.get('etag')).toMatch(/^"[0-9A-F]{128}"$/);
      expect(text).toMatch(
        /^\{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery\.k8s\.io\/v2","metadata":\{\},"items":\[/,
      );
    }
    expect((await get('/api', { Accept: AGGREGATED })).json.items).toEqual([]);
    const { json } = await get('/apis', { Accept: AGGREGATED });
    const responseKind = { group: 'clusterregistry.k8s.io', version: 'v1alpha1', kind: 'Cluster' };
    expect(json.items).toContainEqual({
      metadata: { name: 'clusterregistry.k8s.io' },
      versions: [
        {
          version: 'v1alpha1',
          resources: [
            {
              resource: 'clusters',
              responseKind,
              scope: 'Cluster',
              singularResource: 'cluster',
              verbs: CUSTOM_VERBS,
              subresources: [{ subresource: 'status', responseKind, verbs: ['get', 'patch', 'update'] }],
            },
          ],
          freshness: 'Current',
        },
      ],
    });
  });

  it('X-05: the core group of a cluster has no name, and a token is a subresource', async () => {
    const { json } = await get(`${CLUSTER}/api`, { Accept: AGGREGATED });
    expect(json.items.map(({ metadata }: { metadata: object }) => metadata)).toEqual([{}]);
    const { resources } = json.items[0].versions[0];
    expect(resources.at(-1)).toEqual({
      resource: 'serviceaccounts',
      responseKind: { group: '', version: 'v1', kind: 'ServiceAccount' },
      scope: 'Namespaced',
      singularResource: 'serviceaccount',
      verbs: BUILTIN_VERBS,
      shortNames: ['sa'],
      subresources: [
        {
          subresource: 'token',
          responseKind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
          verbs: ['create'],
        },
      ],
    });
  });

  it('X-06: 304 for a document that the client has', async () => {
    const etag = (await get('/apis', { Accept: AGGREGATED })).headers.get('etag') ?? '';
    for (const known of [etag, `"other", W/${etag}`, '*']) {
      const answer = await get('/apis', { Accept: AGGREGATED, 'If-None-Match': known });
      expect([answer.code, answer.text, answer.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await get('/apis', { Accept: AGGREGATED, 'If-None-Match': '"other"' })).code).toBe(200);
    // The other form of the same path is another document.
    expect((await get('/apis', { 'If-None-Match': etag })).code).toBe(200);
  });

  it('X-06: v2beta1 is no longer served, and below /apis there is one form only', async () => {
    const beta = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
    expect((await get('/apis', { Accept: `${beta},application/json` })).json.kind).toBe('APIGroupList');
    expectStatus(await get('/apis', { Accept: beta }), {
      code: 406,
      reason: 'NotAcceptable',
      message: 'only the following media types are accepted: application/json, application/yaml',
    });
    const path = '/apis/clusterregistry.k8s.io/v1alpha1';
    expect((await get(path, { Accept: KUBECTL_ACCEPT })).json.kind).toBe('APIResourceList');
  });
});

describe('who may see it', () => {
  it.each(['/api', '/apis', `${CLUSTER}/api`, `${CLUSTER}/apis`])('%s: whoever has logged in', async (path) => {
    expect((await get(path)).code).toBe(200);
    expect((await server.call('GET', path, { token: null })).code).toBe(401);
    expect((await server.call('HEAD', path)).code).toBe(200);
    expect((await server.call('POST', path, { body: {} })).code).toBe(405);
  });

  it('decision 12: the answer does not tell whether a cluster exists', async () => {
    const body = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'somewhere' } };
    expect((await server.call('POST', '/apis/clusterregistry.k8s.io/v1alpha1/clusters', { body })).code).toBe(201);
    for (const path of ['/api', '/apis', '/api/v1']) {
      expect((await get(`/orchestrator/somewhere${path}`)).text).toBe((await get(`${CLUSTER}${path}`)).text);
    }
  });

  it('what is promised is served', async () => {
    const { json } = await get(`${CLUSTER}/api/v1`);
    for (const { name, namespaced } of json.resources) {
      const [resource, subresource] = name.split('/');
      const path = `${CLUSTER}/api/v1${namespaced ? '/namespaces/x' : ''}/${resource}/y${subresource ? `/${subresource}` : ''}`;
      // 404 about the object, 405 about the method: never about the path.
      const { message } = (await server.call('GET', path)).json;
      expect(message).not.toBe('the server could not find the requested resource');
    }
  });
});

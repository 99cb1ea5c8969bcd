import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { type Answer, type Server, startServer, tokenOf } from './support/server.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer({ users: { jane: [] } });
});
afterAll(() => server.destroy());

const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  server.call('GET', path, { token: tokenOf('jane'), headers });

const REGISTRY = 'apis/clusterregistry.k8s.io/v1alpha1';
const addressOf = async (gv: string, prefix = ''): Promise<string> =>
  (await get(`${prefix}/openapi/v3`)).json.paths[gv].serverRelativeURL;

describe('the index', () => {
  it('X-17: names every document with its hash', async () => {
    const { code, headers, json } = await get('/openapi/v3');
    expect([code, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(headers.get('etag')).toMatch(/^"[0-9A-F]{128}"$/);
    expect(Object.keys(json.paths)).toEqual(expect.arrayContaining([REGISTRY, 'apis/rbac.authorization.k8s.io/v1']));
    expect(json.paths[REGISTRY].serverRelativeURL).toMatch(
      /^\/openapi\/v3\/apis\/clusterregistry\.k8s\.io\/v1alpha1\?hash=[0-9A-F]{128}$/,
    );
    const again = await get('/openapi/v3', { 'If-None-Match': headers.get('etag') ?? '' });
    expect([again.code, again.text]).toEqual([304, '']);
  });

  it('X-17: at a cluster the addresses have its prefix, whatever its name needs to be one', async () => {
    expect(await addressOf('api/v1', '/orchestrator/a')).toMatch(/^\/orchestrator\/a\/openapi\/v3\/api\/v1\?hash=/);
    const odd = await addressOf('api/v1', '/orchestrator/a%20%22b');
    expect(odd).toMatch(/^\/orchestrator\/a%20%22b\/openapi\/v3\/api\/v1\?hash=/);
    expect((await get(odd)).code).toBe(200);
  });
});

describe('/openapi/v2', () => {
  it.each([
    ['', ['SelfSubjectAccessReview', 'SigningKey', 'TokenReview'], ['Cluster', 'ClusterRole', 'ObjectReference']],
    ['/orchestrator/a', ['SelfSubjectAccessReview', 'TokenReview'], ['Pod', 'SigningKey', 'TokenRequest']],
  ])(
    'X-13: in "%s" it describes what can be created and not patched, and nothing else',
    async (prefix, some, others) => {
      const { code, headers, json, text } = await get(`${prefix}/openapi/v2`);
      expect([code, headers.get('content-type'), json.swagger]).toEqual([200, 'application/json', '2.0']);
      const kinds = Object.keys(json.definitions).map((name) => name.split('.').at(-1));
      expect(kinds).toEqual(expect.arrayContaining(some));
      for (const other of others) expect(kinds).not.toContain(other);
      const referred = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, name]) => name ?? '');
      expect(referred.length).toBeGreaterThan(0);
      for (const name of referred) expect(json.definitions).toHaveProperty([name.replace('#/definitions/', '')]);
    },
  );

  it('is for whoever has logged in, and kept by its tag', async () => {
    expect((await server.call('GET', '/openapi/v2', { token: null })).code).toBe(401);
    const Accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const { headers } = await get('/openapi/v2', { Accept });
    expect(headers.get('content-type')).toBe(Accept.replace('@', '.'));
    expect((await get('/openapi/v2', { Accept, 'If-None-Match': headers.get('etag') ?? '' })).code).toBe(304);
    expect((await get('/openapi/v2', { 'If-None-Match': headers.get('etag') ?? '' })).code).toBe(200);
    expect((await get('/openapi/v2', { Accept: 'text/html' })).code).toBe(406);
  });
});

describe('a document', () => {
  it('X-17: with its hash it can be kept for good', async () => {
    const address = await addressOf(REGISTRY);
    const { code, headers } = await get(address);
    expect([code, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['public, immutable', 'Accept']);
    expect(headers.get('etag')).toBe(`"${address.split('=')[1]}"`);
    const days = (Date.parse(headers.get('expires') ?? '') - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(364);
    expect(days).toBeLessThan(366);
    expect((await get(address, { 'If-None-Match': headers.get('etag') ?? '' })).code).toBe(304);
  });

  it('X-17: without a hash it is not kept, with another one it is elsewhere', async () => {
    const plain = await get(`/openapi/v3/${REGISTRY}`);
    expect([plain.code, plain.headers.get('cache-control')]).toEqual([200, 'no-cache, private']);
    for (const prefix of ['', '/orchestrator/a']) {
      const gv = prefix === '' ? REGISTRY : 'api/v1';
      const moved = await get(`${prefix}/openapi/v3/${gv}?hash=OLD`);
      expect([moved.code, moved.headers.get('location')]).toEqual([301, await addressOf(gv, prefix)]);
    }
  });

  it('is for whoever has logged in, and only what is served is there', async () => {
    expect((await server.call('GET', '/openapi/v3', { token: null })).code).toBe(401);
    expect((await get('/openapi/v3/api/v1')).code).toBe(404);
    expect((await get(`/orchestrator/a/openapi/v3/${REGISTRY}`)).code).toBe(404);
    expectStatus(await get('/openapi/v3', { Accept: 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf' }), {
      code: 406,
      reason: 'NotAcceptable',
      message: 'only the following media types are accepted: application/json',
    });
  });

  it.each<[string, string, string[]]>([
    ['', REGISTRY, ['json-patch+json', 'merge-patch+json']],
    ['', 'apis/rbac.authorization.k8s.io/v1', ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json']],
    ['/orchestrator/a', 'api/v1', ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json']],
  ])('X-13: in %s/%s every kind has a PATCH with fieldValidation', async (prefix, gv, types) => {
    const { json } = await get(await addressOf(gv, prefix));
    expect(json.openapi).toBe('3.0.0');
    const patches = Object.values<Record<string, unknown>>(json.paths).flatMap(({ patch }) => (patch ? [patch] : []));
    expect(patches.length).toBeGreaterThan(0);
    for (const patch of patches as { parameters: { name: string }[]; requestBody: { content: object } }[]) {
      expect(patch.parameters.map(({ name }) => name)).toEqual(['dryRun', 'fieldManager', 'fieldValidation', 'pretty']);
      expect(Object.keys(patch.requestBody.content)).toEqual(types.map((type) => `application/${type}`));
      expect(patch).toHaveProperty('x-kubernetes-group-version-kind.kind');
    }
  });

  it('every reference leads somewhere, and every kind says what it is', async () => {
    for (const [prefix, gv] of [
      ['', REGISTRY],
      ['', 'apis/rbac.authorization.k8s.io/v1'],
      ['/orchestrator/a', 'api/v1'],
    ]) {
      const { json, text } = await get(await addressOf(gv ?? '', prefix));
      const referred = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
      expect(Object.keys(json.components.schemas)).toEqual(expect.arrayContaining([...new Set(referred)]));
      expect(text).not.toContain('goType');
    }
  });

  it('describes the cluster with the word that is served', async () => {
    const { json } = await get(await addressOf(REGISTRY));
    const cluster = json.components.schemas['io.k8s.clusterregistry.v1alpha1.Cluster'];
    expect(cluster['x-kubernetes-group-version-kind']).toEqual([
      { group: 'clusterregistry.k8s.io', kind: 'Cluster', version: 'v1alpha1' },
    ]);
    expect(Object.keys(cluster.properties.spec.properties)).toEqual(['orchestratorApiEndpoints', 'authInfo']);
    expect(Object.keys(json.paths)).toEqual([
      `/${REGISTRY}/clusters`,
      `/${REGISTRY}/clusters/{name}`,
      `/${REGISTRY}/clusters/{name}/status`,
    ]);
  });

  it('says how lists are merged, as the patches do', async () => {
    const { json } = await get(await addressOf('api/v1', '/orchestrator/a'));
    const { properties } = json.components.schemas['io.k8s.api.core.v1.ServiceAccount'];
    expect(properties.secrets).toMatchObject({
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-patch-strategy': 'merge',
    });
    expect(properties.imagePullSecrets['x-kubernetes-list-type']).toBe('atomic');
  });
});

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { type Answer, tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** The documents of discovery and OpenAPI. */

const server = sharedServer();

describe('discovery', () => {
  const CLUSTER = '/orchestrator/nowhere';
  const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  /** what kubectl sends. */
  const KUBECTL_ACCEPT = `${AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json`;

  const get = (path: string, headers: Record<string, string> = {}) =>
    server.call('GET', path, { token: tokenOf('jane'), headers });

  const BUILTIN_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
  const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

  describe('legacy', () => {
    it('X-07: /api', async () => {
      const fleet = await get('/api');
      expect([fleet.code, fleet.headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(fleet.json).toEqual({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] });
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
          {
            name: 'clusters/userpass',
            singularName: '',
            namespaced: false,
            group: 'authentication.k8s.io',
            version: 'v1',
            kind: 'TokenRequest',
            verbs: ['create'],
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

    it('X-20: at the fleet, kinds inside clusters can be written, not read', async () => {
      const { json } = await get('/api/v1');
      expect(json.resources.map(({ name, verbs }: { name: string; verbs: string[] }) => [name, verbs])).toEqual(
        ['namespaces', 'pods', 'secrets', 'serviceaccounts'].map((name) => [name, ['create', 'patch', 'update']]),
      );
      const paths = Object.keys((await get('/openapi/v3/api/v1')).json.paths);
      expect(paths).toContain('/api/v1/namespaces/{namespace}/pods/{name}');
      expect(paths).not.toContain('/api/v1/pods');
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
      const core = (await get('/api', { Accept: AGGREGATED })).json.items;
      expect(core).toMatchObject([{ metadata: {}, versions: [{ version: 'v1' }] }]);
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
                subresources: [
                  { subresource: 'status', responseKind, verbs: ['get', 'patch', 'update'] },
                  {
                    subresource: 'userpass',
                    responseKind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
                    verbs: ['create'],
                  },
                ],
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
    it.each(['/api', '/apis', `${CLUSTER}/api`, `${CLUSTER}/apis`])('%s: for authenticated callers', async (path) => {
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
  });
});

describe('OpenAPI', () => {
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

    it('X-17: at a cluster the addresses have its prefix, with its name percent-encoded', async () => {
      expect(await addressOf('api/v1', '/orchestrator/a')).toMatch(/^\/orchestrator\/a\/openapi\/v3\/api\/v1\?hash=/);
      const odd = await addressOf('api/v1', '/orchestrator/a%20%22b');
      expect(odd).toMatch(/^\/orchestrator\/a%20%22b\/openapi\/v3\/api\/v1\?hash=/);
      expect((await get(odd)).code).toBe(200);
    });
  });

  describe('/openapi/v2', () => {
    it.each([
      ['', ['SelfSubjectAccessReview', 'SigningKey', 'TokenReview', 'Cluster', 'ClusterRole', 'Pod'], ['TokenRequest']],
      ['/orchestrator/a', ['SelfSubjectAccessReview', 'TokenReview', 'Pod'], ['SigningKey', 'TokenRequest', 'Cluster']],
    ])('X-13: in "%s" it describes every kind that is served there', async (prefix, some, others) => {
      const { code, headers, json, text } = await get(`${prefix}/openapi/v2`);
      expect([code, headers.get('content-type'), json.swagger]).toEqual([200, 'application/json', '2.0']);
      const kinds = Object.keys(json.definitions).map((name) => name.split('.').at(-1));
      expect(kinds).toEqual(expect.arrayContaining(some));
      for (const other of others) expect(kinds).not.toContain(other);
      const referred = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, name]) => name ?? '');
      expect(referred.length).toBeGreaterThan(0);
      for (const name of referred) expect(json.definitions).toHaveProperty([name.replace('#/definitions/', '')]);
    });

    // kubectl before 1.27 looks for both in the PATCH operation with the extension of the kind.
    it.each([
      ['', { group: 'clusterregistry.k8s.io', kind: 'Cluster', version: 'v1alpha1' }, true],
      ['', { group: 'rbac.authorization.k8s.io', kind: 'RoleBinding', version: 'v1' }, true],
      ['', { group: 'clusterpass.dev', kind: 'SigningKey', version: 'v1alpha1' }, false],
      ['/orchestrator/a', { group: '', kind: 'ServiceAccount', version: 'v1' }, true],
    ])('X-13: in "%s" %j: whether it supports dry runs and field validation', async (prefix, gvk, isPatched) => {
      const { json } = await get(`${prefix}/openapi/v2`);
      const names = (parameters: { in: string; name: string }[]): string[] =>
        parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
      // biome-ignore lint/suspicious/noExplicitAny: a document of any shape
      const patches = Object.values(json.paths).map(({ patch }: any) => patch);
      const found = patches.filter((patch) => isDeepStrictEqual(patch['x-kubernetes-group-version-kind'], gvk));
      expect(found.map(({ parameters }) => names(parameters))).toEqual(
        isPatched ? [['dryRun', 'fieldManager', 'fieldValidation', 'force', 'pretty']] : [],
      );
      const Accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
      const bytes = Buffer.from(
        await (
          await fetch(`${server.url}${prefix}/openapi/v2`, {
            headers: { Accept, Authorization: `Bearer ${server.adminToken}` },
          })
        ).arrayBuffer(),
      );
      expect(
        patchesIn(bytes).some(
          ([of, parameters]) => isDeepStrictEqual(JSON.parse(of), gvk) && parameters.includes('dryRun'),
        ),
      ).toBe(isPatched);
    });
  });

  describe('a document', () => {
    it('X-17: with its hash it can be cached for ever', async () => {
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

    it('X-17: without a hash it is not cached, with an old hash it is a redirect', async () => {
      const plain = await get(`/openapi/v3/${REGISTRY}`);
      expect([plain.code, plain.headers.get('cache-control')]).toEqual([200, 'no-cache, private']);
      for (const prefix of ['', '/orchestrator/a']) {
        const gv = prefix === '' ? REGISTRY : 'api/v1';
        const moved = await get(`${prefix}/openapi/v3/${gv}?hash=OLD`);
        expect([moved.code, moved.headers.get('location')]).toEqual([301, await addressOf(gv, prefix)]);
      }
    });

    it('is for authenticated callers, and has only what is served', async () => {
      expect((await server.call('GET', '/openapi/v3', { token: null })).code).toBe(401);
      expect((await get('/openapi/v3/api/v2')).code).toBe(404);
      expect((await get(`/orchestrator/a/openapi/v3/${REGISTRY}`)).code).toBe(404);
      expectStatus(await get('/openapi/v3', { Accept: 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf' }), {
        code: 406,
        reason: 'NotAcceptable',
        message: 'only the following media types are accepted: application/json',
      });
    });

    const APPLY = ['apply-patch+yaml', 'apply-patch+json'];
    it.each<[string, string, string[]]>([
      ['', REGISTRY, ['json-patch+json', 'merge-patch+json', ...APPLY]],
      [
        '',
        'apis/rbac.authorization.k8s.io/v1',
        ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json', ...APPLY],
      ],
      ['/orchestrator/a', 'api/v1', ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json', ...APPLY]],
    ])('X-13, AP-71, AP-81: in %s/%s every kind has a PATCH with fieldValidation', async (prefix, gv, types) => {
      const { json } = await get(await addressOf(gv, prefix));
      expect(json.openapi).toBe('3.0.0');
      const patches = Object.values<Record<string, unknown>>(json.paths).flatMap(({ patch }) => (patch ? [patch] : []));
      expect(patches.length).toBeGreaterThan(0);
      for (const patch of patches as { parameters: { name: string }[]; requestBody: { content: object } }[]) {
        expect(patch.parameters.map(({ name }) => name)).toEqual([
          'dryRun',
          'fieldManager',
          'fieldValidation',
          'force',
          'pretty',
        ]);
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

    it('AP-82: says how server-side apply merges a cluster', async () => {
      const { json } = await get(await addressOf(REGISTRY));
      const { schemas } = json.components;
      const cluster = schemas['io.k8s.clusterregistry.v1alpha1.Cluster'];
      expect(cluster.properties.status.properties.conditions).toMatchObject({
        'x-kubernetes-list-map-keys': ['type'],
        'x-kubernetes-list-type': 'map',
      });
      const { properties } = schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'];
      expect(properties.managedFields['x-kubernetes-list-type']).toBe('atomic');
      expect(properties.finalizers['x-kubernetes-list-type']).toBe('set');
      expect(properties.ownerReferences['x-kubernetes-list-map-keys']).toEqual(['uid']);
      const { OwnerReference, ManagedFieldsEntry } = Object.fromEntries(
        Object.entries<Record<string, object>>(schemas).map(([name, schema]) => [name.split('.').at(-1), schema]),
      );
      expect(OwnerReference).toHaveProperty(['x-kubernetes-map-type'], 'atomic');
      expect(JSON.stringify(ManagedFieldsEntry)).toContain(
        '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1',
      );
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
});

/** The bytes of each occurrence of a field, along a path of field numbers. */
function fieldsAt(bytes: Uint8Array, [number, ...rest]: readonly number[]): Uint8Array[] {
  if (number === undefined) return [bytes];
  const reader = new BinaryReader(bytes);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === number && wire === WireType.LengthDelimited) found.push(...fieldsAt(reader.bytes(), rest));
    else reader.skip(wire, field);
  }
  return found;
}

/** The kind and the query parameters of each PATCH operation, by the numbers of gnostic's OpenAPIv2.proto. */
function patchesIn(document: Uint8Array): [string, string[]][] {
  const textAt = (bytes: Uint8Array, ...path: number[]): string[] =>
    fieldsAt(bytes, path).map((value) => Buffer.from(value).toString());
  return fieldsAt(document, [8, 2, 2, 8]).map((patch) => {
    const extension = fieldsAt(patch, [13]).find((each) => textAt(each, 1)[0] === 'x-kubernetes-group-version-kind');
    return [textAt(extension ?? new Uint8Array(), 2, 2)[0] ?? '{}', textAt(patch, 8, 1, 2, 3, 4)];
  });
}

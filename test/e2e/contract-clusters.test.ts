import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, notFound } from './support/expect-status.ts';
import { addCluster, CLUSTERS, namesIn, PUBLIC_LIST } from './support/fleet.ts';
import { type Answer, type Server, startServer } from './support/server.ts';

/** Facts about clusters as a resource: their place, their schema, their status, and the lists they come in. */

let server: Server;

beforeAll(async () => {
  server = await startServer();
  for (const name of ['a', 'b', 'c', 'd']) await addCluster(server, name, { labels: { half: name < 'c' ? '1' : '2' } });
});
afterAll(() => server.destroy());

const GROUP = '/apis/clusterregistry.k8s.io/v1alpha1';
const MERGE = { 'Content-Type': 'application/merge-patch+json' };
const patch = (path: string, body: object): Promise<Answer> =>
  server.call('PATCH', `${CLUSTERS}/${path}`, { body, headers: MERGE });
const NOT_SERVED = {
  code: 404,
  reason: 'NotFound',
  message: 'the server could not find the requested resource',
  details: {},
};

describe('the resource', () => {
  it('L-01, decision 1: its group, version, kinds and scope, with a status', async () => {
    const { json } = await server.call('GET', GROUP);
    expect(json.groupVersion).toBe('clusterregistry.k8s.io/v1alpha1');
    const shown = json.resources.map(
      ({ name, kind, namespaced, singularName, shortNames }: Record<string, unknown>) => ({
        name,
        kind,
        namespaced,
        singularName,
        shortNames,
      }),
    );
    expect(shown).toEqual([
      { name: 'clusters', kind: 'Cluster', namespaced: false, singularName: 'cluster', shortNames: undefined },
      { name: 'clusters/status', kind: 'Cluster', namespaced: false, singularName: '', shortNames: undefined },
    ]);
    const list = (await server.call('GET', CLUSTERS)).json;
    expect([list.apiVersion, list.kind]).toEqual(['clusterregistry.k8s.io/v1alpha1', 'ClusterList']);
    const token = (await server.call('GET', '/orchestrator/a/api/v1')).json.resources.at(-1);
    expect([token.group, token.version, token.kind]).toEqual(['authentication.k8s.io', 'v1', 'TokenRequest']);
  });

  it('L-02: has one place; there is none inside a namespace', async () => {
    for (const path of [`${GROUP}/namespaces/ci/clusters`, `${GROUP}/namespaces/ci/clusters/a`]) {
      for (const method of ['GET', 'DELETE']) expectStatus(await server.call(method, path), NOT_SERVED);
    }
    expect(namesIn(await server.call('GET', CLUSTERS))).toEqual(['a', 'b', 'c', 'd']);
  });

  it('L-03: status is written through its subresource only, and is no new generation', async () => {
    const status = { type: 'kind', version: 'v1.36.4' };
    const created = await server.call('POST', CLUSTERS, {
      body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'staged' }, status },
    });
    expect([created.code, created.json.status, created.json.metadata.generation]).toEqual([201, undefined, 1]);
    const mainly = await patch('staged', { status });
    expect([mainly.code, mainly.json.status]).toEqual([200, undefined]);
    const written = await patch('staged/status', { status, spec: { authInfo: { user: { name: 'x' } } } });
    expect([written.code, written.json.status, written.json.spec, written.json.metadata.generation]).toEqual([
      200,
      status,
      undefined,
      1,
    ]);
    const changed = await patch('staged', { spec: { authInfo: { user: { name: 'x' } } }, status: { type: 'other' } });
    expect([changed.code, changed.json.status, changed.json.metadata.generation]).toEqual([200, status, 2]);
    const put = await server.call('PUT', `${CLUSTERS}/staged/status`, {
      body: { ...changed.json, spec: {}, status: { ...status, type: 'real' } },
    });
    expect([put.code, put.json.status.type, put.json.spec, put.json.metadata.generation]).toEqual([
      200,
      'real',
      changed.json.spec,
      2,
    ]);
    expect((await server.call('DELETE', `${CLUSTERS}/staged`)).code).toBe(200);
    expectStatus(await patch('staged/status', { status }), notFound('clusters', 'staged', 'clusterregistry.k8s.io'));
  });
});

describe('L-04: the schema', () => {
  const SPEC = {
    orchestratorApiEndpoints: {
      serverEndpoints: [
        { clientCIDR: '10.0.0.0/8', serverAddress: 'https://10.0.0.1:6443' },
        { clientCIDR: '::/0', serverAddress: 'https://api.example.com' },
      ],
    },
    authInfo: {
      user: { kind: 'Secret', name: 'u', namespace: 'n' },
      controller: { kind: 'Secret', name: 'c', namespace: 'n' },
    },
  };
  const CONDITION = {
    type: 'Ready',
    status: 'Unknown',
    lastHeartbeatTime: '2026-01-02T03:04:05Z',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'Lost',
    message: 'no answer',
  };
  const make = (name: string, spec: unknown, query = ''): Promise<Answer> =>
    server.call('POST', `${CLUSTERS}${query}`, {
      body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name }, spec },
    });
  const causesOf = ({ json }: Answer): string[] =>
    json.details.causes.map(({ reason, field }: { reason: string; field: string }) => `${field} ${reason}`);

  it('keeps every field it has, and knows no other', async () => {
    const created = await make('whole', SPEC, '?fieldValidation=Strict');
    expect([created.code, created.json.spec]).toEqual([201, SPEC]);
    const status = { conditions: [CONDITION], type: 'kind', version: 'v1.36.4' };
    expect((await patch('whole/status', { status })).json.status).toEqual(status);
    expect((await server.call('GET', `${CLUSTERS}/whole`)).json).toMatchObject({ spec: SPEC, status });
    const unknown = await make('odd', { ...SPEC, caBundle: 'x', authInfo: { token: 'x' } }, '?fieldValidation=Strict');
    expect([unknown.code, unknown.json.message]).toEqual([
      400,
      'Cluster in version "v1alpha1" cannot be handled as a Cluster: strict decoding error: unknown field "spec.authInfo.token", unknown field "spec.caBundle"',
    ]);
  });

  it.each<[string, unknown, string[]]>([
    ['text as spec', 'x', ['spec FieldValueInvalid']],
    [
      'an object as addresses',
      { orchestratorApiEndpoints: { serverEndpoints: {} } },
      ['spec.orchestratorApiEndpoints.serverEndpoints FieldValueInvalid'],
    ],
    [
      'a number as address',
      { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 5 }] } },
      ['spec.orchestratorApiEndpoints.serverEndpoints[0].serverAddress FieldValueInvalid'],
    ],
    [
      'a bundle that is no base64',
      { orchestratorApiEndpoints: { caBundle: '!!!' } },
      ['spec.orchestratorApiEndpoints.caBundle FieldValueInvalid'],
    ],
    ['text as reference', { authInfo: { user: 'x' } }, ['spec.authInfo.user FieldValueInvalid']],
    ['a list as name', { authInfo: { controller: { name: [] } } }, ['spec.authInfo.controller.name FieldValueInvalid']],
  ])('%s is 422', async (_, spec, causes) => {
    const answer = await make('odd', spec);
    expect([answer.code, causesOf(answer)]).toEqual([422, causes]);
    expect((await server.call('GET', `${CLUSTERS}/odd`)).code).toBe(404);
  });

  it.each<[string, object, string[]]>([
    ['without a type', { ...CONDITION, type: undefined }, ['status.conditions[0].type FieldValueRequired']],
    ['without a status', { ...CONDITION, status: undefined }, ['status.conditions[0].status FieldValueRequired']],
    [
      'without either',
      { reason: 'x' },
      ['status.conditions[0].type FieldValueRequired', 'status.conditions[0].status FieldValueRequired'],
    ],
    ['with another status', { ...CONDITION, status: 'true' }, ['status.conditions[0].status FieldValueNotSupported']],
    [
      'with a time that is none',
      { ...CONDITION, lastHeartbeatTime: 'yesterday' },
      ['status.conditions[0].lastHeartbeatTime FieldValueInvalid'],
    ],
  ])('a condition %s is 422', async (_, condition, causes) => {
    const answer = await patch('a/status', { status: { conditions: [condition] } });
    expect([answer.code, causesOf(answer)]).toEqual([422, causes]);
  });
});

describe('lists', () => {
  it('L-13, decision 10: selfLink is the path that was asked, on lists alone', async () => {
    const metadata = { name: 'linked', selfLink: '/somewhere/else' };
    const created = await server.call('POST', CLUSTERS, {
      body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata },
    });
    expect([created.code, created.json.metadata.selfLink]).toEqual([201, undefined]);
    for (const path of [PUBLIC_LIST, CLUSTERS]) {
      const { json } = await server.call('GET', `${path}?limit=100&labelSelector=`);
      expect(json.metadata.selfLink).toBe(path);
      expect(JSON.stringify(json.items)).not.toContain('selfLink');
    }
    expect((await server.call('GET', `${CLUSTERS}/linked`)).text).not.toContain('selfLink');
    expect((await server.call('DELETE', `${CLUSTERS}/linked`)).text).not.toContain('selfLink');
  });

  it('L-27: timeoutSeconds bounds the time a list may take, and a list in time does not notice', async () => {
    const { json } = await server.call('GET', `${PUBLIC_LIST}?timeoutSeconds=1`);
    expect(json.kind).toBe('ClusterList');
    const future = Number(json.metadata.resourceVersion) + 1_000;
    const late = await server.call('GET', `${PUBLIC_LIST}?timeoutSeconds=1&resourceVersion=${future}`);
    expect([late.code, late.json.message]).toEqual([
      504,
      'Timeout: request did not complete within requested timeout - context deadline exceeded',
    ]);
    expect((await server.call('GET', `${PUBLIC_LIST}?timeoutSeconds=abc`)).code).toBe(400);
  });

  it('L-36: when a selector admits nothing more, the page is the last', async () => {
    const first = await server.call('GET', `${PUBLIC_LIST}?limit=2&labelSelector=half%3D1`);
    expect(namesIn(first)).toEqual(['a', 'b']);
    expect([first.json.metadata.continue, first.json.metadata.remainingItemCount]).toEqual(['', undefined]);
    const part = await server.call('GET', `${PUBLIC_LIST}?limit=1&labelSelector=half%3D1`);
    expect([namesIn(part), part.json.metadata.remainingItemCount]).toEqual([['a'], 1]);
    const rest = await server.call(
      'GET',
      `${PUBLIC_LIST}?limit=1&labelSelector=half%3D1&continue=${part.json.metadata.continue}`,
    );
    expect([namesIn(rest), rest.json.metadata.continue]).toEqual([['b'], '']);
  });
});

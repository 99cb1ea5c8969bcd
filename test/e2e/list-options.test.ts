import { beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { addCluster, PUBLIC_LIST, removeCluster, revisionNow, revisionOf, touch } from './support/fleet.ts';
import { CLUSTERS } from './support/paths.ts';
import type { Answer } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';
import { Watch } from './support/watch.ts';

/** Lists of clusters: options, forms and schema. Four clusters that no test removes: a, b, c and d. */

const server = sharedServer();

beforeAll(async () => {
  await addCluster(server, 'a', { labels: { env: 'dev', half: '1' } });
  await addCluster(server, 'b', { labels: { half: '1' } });
  await addCluster(server, 'c', { labels: { half: '2' } });
  await addCluster(server, 'd', { labels: { half: '2' } });
});

describe('options', () => {
  let current: number;

  beforeAll(async () => {
    current = await revisionNow(server);
  });

  const list = (query: string): Promise<Answer> => server.call('GET', `${PUBLIC_LIST}?${query}`);

  describe('L-37: a version that has not happened yet', () => {
    it('is 504 after a while, and may be tried again', async () => {
      const answer = await list(`resourceVersion=${current + 1_000}`);
      // The server may have written meanwhile, e.g. when a token was last used.
      const now = Number(/\d+$/.exec(answer.json.message)?.[0]);
      expect(now - current).toBeGreaterThanOrEqual(0);
      expect(now - current).toBeLessThan(1_000);
      expectStatus(answer, {
        code: 504,
        reason: 'Timeout',
        message: `Timeout: Too large resource version: ${current + 1_000}, current: ${now}`,
        details: {
          causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
          retryAfterSeconds: 1,
        },
      });
      expect(answer.headers.get('retry-after')).toBe('1');
    });

    it('L-27: timeoutSeconds ends the wait of a list before that', async () => {
      expectStatus(await list(`resourceVersion=${current + 1_000}&timeoutSeconds=1`), {
        code: 504,
        reason: 'Timeout',
        message: 'Timeout: request did not complete within requested timeout - context deadline exceeded',
        details: {},
      });
    });
  });
});

describe('forms', () => {
  beforeAll(async () => {
    const body = {
      status: { type: 'kind', version: 'v1.36.4', conditions: [{ type: 'Ready', status: 'True' }] },
    };
    expect((await server.call('PATCH', `${CLUSTERS}/a/status`, { body })).code).toBe(200);
  });

  const accept = (as: string, version = 'v1') => ({ Accept: `application/json;as=${as};v=${version};g=meta.k8s.io` });
  const get = (path: string, as: string, version?: string): Promise<Answer> =>
    server.call('GET', path, { headers: accept(as, version) });

  const column = (name: string, type: string, format = '', priority = 0) => ({
    name,
    type,
    format,
    description: expect.stringMatching(/\w+/),
    priority,
  });
  /** B-02: where a CRD declares columns, they stand between the name and the age. */
  const COLUMNS = [
    column('Name', 'string', 'name'),
    column('Ready', 'string'),
    column('Type', 'string'),
    column('Version', 'string'),
    column('Age', 'date'),
    column('Reason', 'string', '', 1),
    column('Endpoint', 'string', '', 1),
    column('Labels', 'string', '', 1),
  ];
  /** The server may have written the time since. */
  const notBefore = (plain: Answer) =>
    expect.toSatisfy((version: string) => Number(version) >= Number(revisionOf(plain)));
  const AGE = expect.stringMatching(/^\d+(s|m|m\d+s)$/);

  describe('tables', () => {
    it('B-01, B-02, B-03: a list', async () => {
      const path = `${PUBLIC_LIST}?labelSelector=half%3D1`;
      const plain = await server.call('GET', path);
      for (const version of ['v1', 'v1beta1']) {
        const { code, headers, json } = await get(path, 'Table', version);
        expect(code).toBe(200);
        expect(headers.get('content-type')).toBe('application/json');
        expect(Object.keys(json)).toEqual(['kind', 'apiVersion', 'metadata', 'columnDefinitions', 'rows']);
        expect(json).toEqual({
          kind: 'Table',
          apiVersion: 'meta.k8s.io/v1',
          metadata: { resourceVersion: notBefore(plain) },
          columnDefinitions: COLUMNS,
          rows: [
            {
              cells: ['a', 'True', 'kind', 'v1.36.4', AGE, null, null, 'env=dev,half=1'],
              object: partialOf(plain.json.items[0]),
            },
            { cells: ['b', 'Unknown', null, null, AGE, null, null, 'half=1'], object: partialOf(plain.json.items[1]) },
          ],
        });
      }
    });

    it('B-04: includeObject', async () => {
      const items = (await server.call('GET', CLUSTERS)).json.items;
      const rows = async (query: string) => (await get(`${CLUSTERS}${query}`, 'Table')).json.rows;
      for (const query of ['', '?includeObject=', '?includeObject=Metadata']) {
        expect((await rows(query)).map(({ object }: { object: unknown }) => object)).toEqual(items.map(partialOf));
      }
      const whole = (await rows('?includeObject=Object')).map(({ object }: { object: unknown }) => object);
      // As text: the keys are in the same order.
      expect(JSON.stringify(whole)).toBe(JSON.stringify(items));
      for (const row of await rows('?includeObject=None')) expect(Object.keys(row)).toEqual(['cells']);
      for (const path of [CLUSTERS, `${CLUSTERS}/a`, `${CLUSTERS}?watch=true`]) {
        const answer = await get(`${path}${path.includes('?') ? '&' : '?'}includeObject=x`, 'Table');
        expectStatus(answer, {
          code: 400,
          reason: 'BadRequest',
          message:
            "Unable to convert to Table as requested: includeObject: Invalid value: \"x\": must be 'Metadata', 'Object', 'None', or empty",
        });
      }
    });
  });

  it('B-06: metadata alone: a list', async () => {
    const plain = await server.call('GET', PUBLIC_LIST);
    const { text, json } = await get(PUBLIC_LIST, 'PartialObjectMetadataList');
    expect(Object.keys(json)).toEqual(['kind', 'apiVersion', 'metadata', 'items']);
    expect(json).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: notBefore(plain) },
      items: plain.json.items.map(partialOf),
    });
    expect(text).toMatch(/\}\n$/);
  });

  describe('watches in other forms', () => {
    const open = (query: string, as: string) =>
      Watch.open(server, `${CLUSTERS}?watch=true${query}`, undefined, accept(as));

    it('B-05: the columns are named once, then one row for each event', async () => {
      const watch = await open('&labelSelector=forms', 'Table');
      await addCluster(server, 'w1', { labels: { forms: '' } });
      await touch(server, 'w1', 'changed');
      await removeCluster(server, 'w1');
      // A cluster is marked first, then its objects are deleted, then it is deleted.
      const events = await watch.take(4);
      expect(events.map(({ type, object }) => [type, object.kind, object.rows[0].cells[0]])).toEqual([
        ['ADDED', 'Table', 'w1'],
        ['MODIFIED', 'Table', 'w1'],
        ['MODIFIED', 'Table', 'w1'],
        ['DELETED', 'Table', 'w1'],
      ]);
      expect(events.map(({ object }) => object.columnDefinitions)).toEqual([COLUMNS, null, null, null]);
      for (const { object } of events) {
        expect(object.rows).toHaveLength(1);
        expect(object.rows[0].object.kind).toBe('PartialObjectMetadata');
        expect(object.rows[0].object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
      }
      watch.close();
    });

    it('B-05: errors are not converted', async () => {
      const future = 10 ** 9;
      const query = `&resourceVersion=${future}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
      const [event] = await (await open(query, 'Table')).rest();
      expect(event).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 504 } });
    });

    it('B-05: the end of the initial events is marked even when objects are not wanted', async () => {
      const watch = await open('&allowWatchBookmarks=true&includeObject=None&labelSelector=env', 'Table');
      const [added, bookmark] = await watch.take(2);
      expect(added?.object.rows[0]).not.toHaveProperty('object');
      expect(bookmark?.type).toBe('BOOKMARK');
      expect(bookmark?.object.rows[0].object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
      watch.close();
    });

    it('B-06: metadata alone', async () => {
      const plain = await server.call('GET', `${CLUSTERS}/a`);
      const watch = await open('&allowWatchBookmarks=true&labelSelector=env', 'PartialObjectMetadata');
      const [added, bookmark] = await watch.take(2);
      expect(added).toEqual({ type: 'ADDED', object: partialOf(plain.json) });
      expect(bookmark).toEqual({
        type: 'BOOKMARK',
        object: {
          kind: 'PartialObjectMetadata',
          apiVersion: 'meta.k8s.io/v1',
          metadata: { resourceVersion: expect.any(String), annotations: { 'k8s.io/initial-events-end': 'true' } },
        },
      });
      watch.close();
    });
  });

  const partialOf = ({ metadata }: { metadata: object }) => ({
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
  });
});

describe('the resource and its schema', () => {
  /** Facts about clusters as a resource: their path, schema, status and lists. */

  const GROUP = '/apis/clusterregistry.k8s.io/v1alpha1';
  const patch = (path: string, body: object): Promise<Answer> => server.call('PATCH', `${CLUSTERS}/${path}`, { body });

  it('L-01, decision 1: the resource: its group, version, kinds and scope, with a status', async () => {
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
      { name: 'clusters/userpass', kind: 'TokenRequest', namespaced: false, singularName: '', shortNames: undefined },
    ]);
    const list = (await server.call('GET', CLUSTERS)).json;
    expect([list.apiVersion, list.kind]).toEqual(['clusterregistry.k8s.io/v1alpha1', 'ClusterList']);
    const token = (await server.call('GET', '/orchestrator/a/api/v1')).json.resources.at(-1);
    expect([token.group, token.version, token.kind]).toEqual(['authentication.k8s.io', 'v1', 'TokenRequest']);
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

    it('stores every known field, and no other', async () => {
      const created = await make('whole', SPEC, '?fieldValidation=Strict');
      expect([created.code, created.json.spec]).toEqual([201, SPEC]);
      const status = { conditions: [CONDITION], type: 'kind', version: 'v1.36.4' };
      expect((await patch('whole/status', { status })).json.status).toEqual(status);
      // The prober may have added CredentialUsable.
      expect((await server.call('GET', `${CLUSTERS}/whole`)).json).toMatchObject({
        spec: SPEC,
        status: { ...status, conditions: expect.arrayContaining([CONDITION]) },
      });
      expect((await server.call('DELETE', `${CLUSTERS}/whole`)).code).toBe(200);
      const unknown = await make(
        'odd',
        { ...SPEC, caBundle: 'x', authInfo: { token: 'x' } },
        '?fieldValidation=Strict',
      );
      expect([unknown.code, unknown.json.message]).toEqual([
        400,
        'Cluster in version "v1alpha1" cannot be handled as a Cluster: strict decoding error: unknown field "spec.authInfo.token", unknown field "spec.caBundle"',
      ]);
    });
  });

  it('L-13, decision 10: lists: selfLink is the path that was asked, on lists alone', async () => {
    const metadata = { name: 'linked', selfLink: '/somewhere/else' };
    const created = await server.call('POST', CLUSTERS, {
      body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata },
    });
    expect([created.code, created.json.metadata.selfLink]).toEqual([201, undefined]);
    for (const path of [PUBLIC_LIST, CLUSTERS, `${CLUSTERS}/`]) {
      const { json } = await server.call('GET', `${path}?limit=100&labelSelector=`);
      expect(json.metadata.selfLink).toBe(path);
      expect(JSON.stringify(json.items)).not.toContain('selfLink');
    }
    expect((await server.call('GET', `${CLUSTERS}/linked`)).text).not.toContain('selfLink');
    expect((await server.call('DELETE', `${CLUSTERS}/linked`)).text).not.toContain('selfLink');
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { addCluster, CLUSTERS, PUBLIC_LIST, removeCluster, revisionOf, touch } from './support/fleet.ts';
import { type Answer, type Server, startServer } from './support/server.ts';
import { Watch } from './support/watch.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await addCluster(server, 'a', { labels: { env: 'dev' } });
  await addCluster(server, 'b');
  const body = {
    status: { type: 'kind', version: 'v1.36.4', conditions: [{ type: 'Ready', status: 'True' }] },
  };
  const headers = { 'Content-Type': 'application/merge-patch+json' };
  expect((await server.call('PATCH', `${CLUSTERS}/a/status`, { body, headers })).code).toBe(200);
});
afterAll(() => server.destroy());

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
  column('Endpoint', 'string', '', 1),
  column('Labels', 'string', '', 1),
];
const AGE = expect.stringMatching(/^\d+(s|m|m\d+s)$/);

describe('tables', () => {
  it('B-01, B-02, B-03: a list', async () => {
    const plain = await server.call('GET', PUBLIC_LIST);
    for (const version of ['v1', 'v1beta1']) {
      const { code, headers, json } = await get(PUBLIC_LIST, 'Table', version);
      expect(code).toBe(200);
      expect(headers.get('content-type')).toBe('application/json');
      expect(Object.keys(json)).toEqual(['kind', 'apiVersion', 'metadata', 'columnDefinitions', 'rows']);
      expect(json).toEqual({
        kind: 'Table',
        apiVersion: 'meta.k8s.io/v1',
        metadata: { resourceVersion: revisionOf(plain) },
        columnDefinitions: COLUMNS,
        rows: [
          { cells: ['a', 'True', 'kind', 'v1.36.4', AGE, null, 'env=dev'], object: partialOf(plain.json.items[0]) },
          { cells: ['b', 'Unknown', null, null, AGE, null, ''], object: partialOf(plain.json.items[1]) },
        ],
      });
    }
  });

  it('B-01: one object', async () => {
    const { json } = await get(`${CLUSTERS}/a`, 'Table');
    expect(json).toMatchObject({ kind: 'Table', columnDefinitions: COLUMNS });
    expect(json.metadata).toEqual({ resourceVersion: json.rows[0].object.metadata.resourceVersion });
    expect(json.rows.map((row: { cells: unknown[] }) => row.cells)).toEqual([
      ['a', 'True', 'kind', 'v1.36.4', AGE, null, 'env=dev'],
    ]);
  });

  it("B-01: kubectl's header gets a table", async () => {
    const headers = {
      Accept:
        'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json',
    };
    expect((await server.call('GET', CLUSTERS, { headers })).json.kind).toBe('Table');
  });

  it('N-07: a form nobody knows is passed over', async () => {
    const headers = { Accept: 'application/json;as=Chart;v=v1;g=meta.k8s.io,application/json' };
    expect((await server.call('GET', CLUSTERS, { headers })).json.kind).toBe('ClusterList');
  });

  it('B-04: includeObject', async () => {
    const items = (await server.call('GET', CLUSTERS)).json.items;
    const rows = async (query: string) => (await get(`${CLUSTERS}${query}`, 'Table')).json.rows;
    for (const query of ['', '?includeObject=', '?includeObject=Metadata']) {
      expect((await rows(query)).map(({ object }: { object: unknown }) => object)).toEqual(items.map(partialOf));
    }
    expect((await rows('?includeObject=Object')).map(({ object }: { object: unknown }) => object)).toEqual(items);
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

describe('metadata alone', () => {
  it('B-06: a list', async () => {
    const plain = await server.call('GET', PUBLIC_LIST);
    const { text, json } = await get(PUBLIC_LIST, 'PartialObjectMetadataList');
    expect(Object.keys(json)).toEqual(['kind', 'apiVersion', 'metadata', 'items']);
    expect(json).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: revisionOf(plain) },
      items: plain.json.items.map(partialOf),
    });
    expect(text).toMatch(/\}\n$/);
  });

  it('B-06: one object', async () => {
    const plain = await server.call('GET', `${CLUSTERS}/a`);
    const { json } = await get(`${CLUSTERS}/a`, 'PartialObjectMetadata');
    expect(json).toEqual(partialOf(plain.json));
  });

  it.each([
    [
      CLUSTERS,
      'PartialObjectMetadata',
      'you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)',
    ],
    [
      `${CLUSTERS}/a`,
      'PartialObjectMetadataList',
      'you requested PartialObjectMetadataList, but the requested object is not a list (*unstructured.Unstructured)',
    ],
    [
      `${CLUSTERS}?watch=true`,
      'PartialObjectMetadataList',
      'you requested PartialObjectMetadataList, but the requested object is not a list (*unstructured.Unstructured)',
    ],
    [
      '/orchestrator/a/api/v1/namespaces',
      'PartialObjectMetadata',
      'you requested PartialObjectMetadata, but the requested object is a list (*core.NamespaceList)',
    ],
  ])('B-06: %s as %s is 406', async (path, as, message) => {
    expectStatus(await get(path, as), { code: 406, reason: 'NotAcceptable', message });
  });
});

describe('watches in other forms', () => {
  const open = (query: string, as: string) =>
    Watch.open(server, `${CLUSTERS}?watch=true${query}`, undefined, accept(as));

  it('B-05: the columns are named once, then one row for each event', async () => {
    const watch = await open('&labelSelector=forms', 'Table');
    await addCluster(server, 'w1', { labels: { forms: '' } });
    await touch(server, 'w1', 'changed');
    await removeCluster(server, 'w1');
    // A cluster is first marked as going, then everything inside it goes, then it does.
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

  it('B-05: two tables at once each name their columns', async () => {
    const watches = await Promise.all([open('', 'Table'), open('', 'Table')]);
    for (const watch of watches) {
      const events = await watch.take(2);
      expect(events.map(({ object }) => object.columnDefinitions === null)).toEqual([false, true]);
      watch.close();
    }
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

  it('V-03: YAML can not be streamed', async () => {
    const headers = { Accept: 'application/yaml' };
    expectStatus(await server.call('GET', `${CLUSTERS}?watch=true`, { headers }), {
      code: 406,
      reason: 'NotAcceptable',
      message: 'only the following media types are accepted: application/json;stream=watch',
    });
  });
});

const partialOf = ({ metadata }: { metadata: object }) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
});

import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TYPE } from '../../src/api/cluster.fixture.ts';
import { badRequest, expectStatus, failure } from './support/expect-status.ts';
import {
  addCluster,
  grantAllClusters,
  PUBLIC_LIST,
  relabel,
  removeCluster,
  revisionNow,
  touch,
} from './support/fleet.ts';
import { CLUSTERS } from './support/paths.ts';
import { sendRaw } from './support/raw-http.ts';
import { type Server, tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';
import { brief, Watch } from './support/watch.ts';

/** The stream of a watch: its form, its start and its end, who may open it, and its errors. */

const server = sharedServer();

beforeAll(async () => {
  await addCluster(server, 'a', { labels: { env: 'dev' } });
  await addCluster(server, 'b', { labels: { env: 'prod' } });
});

describe('events', () => {
  beforeAll(async () => {
    await grantAllClusters(server, 'vera', 'vera');
    await grantAllClusters(server, 'lister', 'lister', { verbs: ['list'] });
    await grantAllClusters(server, 'watcher', 'watcher', { verbs: ['watch'] });
  });

  const open = (query: string, user?: string, path = PUBLIC_LIST): Promise<Watch> =>
    Watch.open(server, `${path}?watch=true${query}`, user === undefined ? undefined : tokenOf(user));

  const versionOf = ({ object }: { object: { metadata: { resourceVersion: string } } }): number =>
    Number(object.metadata.resourceVersion);

  // Concurrent, because they wait for the ends of streams: none of them may write.
  describe.concurrent('the stream', () => {
    it('V-01, V-02: chunked JSON, one line for each event, type before object', async () => {
      const answer = await sendRaw(
        server,
        `GET ${PUBLIC_LIST}?watch=true&timeoutSeconds=1 HTTP/1.1\r\nHost: x\r\nUser-Agent: test\r\n` +
          `Authorization: Bearer ${tokenOf('vera')}\r\nConnection: close\r\n\r\n`,
      );
      const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
      expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(head).toMatch(/\r\nContent-Type: application\/json(\r\n|$)/);
      expect(head).toMatch(/\r\nTransfer-Encoding: chunked(\r\n|$)/);
      expect(head).toMatch(/\r\nCache-Control: no-cache, private(\r\n|$)/);
      const { items } = (await server.call('GET', PUBLIC_LIST)).json;
      for (const item of items) expect(body).toContain(`{"type":"ADDED","object":${JSON.stringify(item)}}\n`);
      // V-04: the last chunk is there, so the client knows that this is the end.
      expect(answer).toMatch(/\r\n0\r\n\r\n$/);
    });

    it('V-04: ends cleanly after timeoutSeconds, without a last event', async () => {
      const events = (await (await open('&timeoutSeconds=1&allowWatchBookmarks=true')).rest()).map(brief);
      // A periodic bookmark may come, too.
      expect([...new Set(events)]).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK']);
    });

    it('V-08: a bookmark two seconds before the end, with a position and nothing else', async () => {
      const version = await revisionNow(server);
      const [events, without] = await Promise.all(
        ['&allowWatchBookmarks=true', ''].map(async (query) =>
          (await open(`&timeoutSeconds=3&resourceVersion=${version}${query}`)).rest(),
        ),
      );
      expect(events?.length).toBeGreaterThan(0);
      // Other objects may change, and a periodic bookmark may come, too.
      for (const event of events ?? []) {
        expect(event).toEqual({
          type: 'BOOKMARK',
          object: { ...CLUSTER_TYPE, metadata: { resourceVersion: expect.stringMatching(/^\d+$/) } },
        });
        expect(versionOf(event as never)).toBeGreaterThanOrEqual(version);
      }
      expect(without).toEqual([]);
    });

    it('V-11: with initial events a future version is an ERROR', async () => {
      const now = await revisionNow(server);
      const query = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=';
      const watch = await open(`${query}${now + 1_000}`);
      expect(watch.code).toBe(200);
      expect(await watch.rest()).toEqual([
        {
          type: 'ERROR',
          object: failure({
            message: expect.stringMatching(`^Timeout: Too large resource version: ${now + 1_000}, current: \\d+$`),
            reason: 'Timeout',
            details: {
              causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
              retryAfterSeconds: 1,
            },
            code: 504,
          }),
        },
      ]);
    });
  });

  describe('where it starts', () => {
    it.each([
      ['V-05: unset', '', ['ADDED a', 'ADDED b', 'ADDED new']],
      ['V-05: 0', '&resourceVersion=0', ['ADDED a', 'ADDED b', 'ADDED new']],
      [
        'V-06: initial events and their end',
        '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
        ['ADDED a', 'ADDED b', 'BOOKMARK', 'ADDED new'],
      ],
      [
        'L-24, V-06: unset, with bookmarks',
        '&allowWatchBookmarks=true',
        ['ADDED a', 'ADDED b', 'BOOKMARK', 'ADDED new'],
      ],
      [
        'V-06: initial events without bookmarks',
        '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
        ['ADDED a', 'ADDED b', 'ADDED new'],
      ],
      [
        'V-07: initial events are the present state',
        '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1',
        ['ADDED a', 'ADDED b', 'ADDED new'],
      ],
      ['V-09: none', '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan', ['ADDED new']],
      [
        'V-09: none, from 0',
        '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0',
        ['ADDED new'],
      ],
    ])('%s', async (_, query, expected) => {
      const watch = await open(query, 'vera');
      await addCluster(server, 'new');
      expect((await watch.take(expected.length)).map(brief)).toEqual(expected);
      watch.close();
      await removeCluster(server, 'new');
    });

    it('V-06: the mark at the end of the initial events', async () => {
      const version = await revisionNow(server);
      const watch = await open(
        `&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=${version}`,
      );
      const mark = (await watch.until(({ type }) => type === 'BOOKMARK')).at(-1);
      expect(mark?.object).toEqual({
        ...CLUSTER_TYPE,
        metadata: { annotations: { 'k8s.io/initial-events-end': 'true' }, resourceVersion: expect.any(String) },
      });
      expect(Number(mark?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(version);
      watch.close();
    });

    it('V-05: N: all events after N and none before, also of deleted objects', async () => {
      const start = await revisionNow(server);
      const made = await addCluster(server, 'brief-1');
      const changed = await touch(server, 'brief-1', 'x');
      await removeCluster(server, 'brief-1');
      const events = await (await open(`&resourceVersion=${start}`)).take(4);
      expect(events.map(brief)).toEqual(['ADDED brief-1', 'MODIFIED brief-1', 'MODIFIED brief-1', 'DELETED brief-1']);
      const versions = events.map(versionOf);
      expect(versions.slice(0, 2)).toEqual([made, changed]);
      const later = await open(`&resourceVersion=${changed}`);
      expect((await later.take(2)).map(versionOf)).toEqual(versions.slice(2));
      later.close();
    });

    it('V-11: a future version: no event until it is reached', async () => {
      const future = (await revisionNow(server)) + 3;
      const watch = await open(`&resourceVersion=${future}`);
      const versions: number[] = [];
      for (let count = 0; count < 6; count++) versions.push(await touch(server, 'a', `future ${count}`));
      // The server itself writes the time now and then, so the number of the test's own versions varies.
      const expected = versions.filter((version) => version > future);
      expect((await watch.take(expected.length)).map(versionOf)).toEqual(expected);
      watch.close();
    });
  });

  it('V-13: selections: entering, staying, leaving, and going for good', async () => {
    const watch = await open('&labelSelector=env%3Dtest', 'vera');
    await addCluster(server, 'w', { labels: { env: 'other' }, annotations: { note: 'before' } });
    const entered = await relabel(server, 'w', { env: 'test' });
    const stayed = await touch(server, 'w', 'inside');
    const left = await relabel(server, 'w', { env: 'other' });
    await touch(server, 'w', 'outside');
    await relabel(server, 'w', { env: 'test' });
    await removeCluster(server, 'w');
    const events = await watch.take(6);
    expect(events.map(brief)).toEqual(['ADDED w', 'MODIFIED w', 'DELETED w', 'ADDED w', 'MODIFIED w', 'DELETED w']);
    expect(events.slice(0, 3).map(versionOf)).toEqual([entered, stayed, left]);
    // The old content, with the version of the change.
    expect(events[2]?.object.metadata.labels).toEqual({ env: 'test' });
    expect(events[2]?.object.metadata.annotations.note).toBe('inside');
    expect(events[5]?.object.metadata.annotations.note).toBe('outside');
    expect(versionOf(events[5] as never)).toBeGreaterThan(versionOf(events[4] as never));
    watch.close();
  });

  describe.concurrent('who may watch', () => {
    it('decision 9: a caller who may see nothing gets an empty stream, not a 403', async () => {
      const watch = await open('&timeoutSeconds=1', 'nobody');
      expect(watch.code).toBe(200);
      expect(await watch.rest()).toEqual([]);
    });
  });
});

describe('errors and upgrades', () => {
  /** Facts about errors of watches: which are responses, and which are events. */

  describe.concurrent('V-12: an error of the request is a response', () => {
    const watch = (query: string, options: Parameters<Server['call']>[2] = {}, path = PUBLIC_LIST) =>
      server.call('GET', `${path}?watch=true&timeoutSeconds=1${query}`, options);

    it.each([
      ['a number', '&limit=x', 400],
      ['a selector', '&labelSelector=a%20in%20(', 400],
      ['a field that is not offered', '&fieldSelector=spec.x%3D1', 400],
      ['a version that is none', '&resourceVersion=abc', 400],
      ['options that do not go together', '&sendInitialEvents=true', 422],
    ])('%s', async (_, query, code) => {
      for (const path of [PUBLIC_LIST, CLUSTERS]) {
        const answer = await watch(query, {}, path);
        expect([answer.code, answer.json.kind, answer.json.code]).toEqual([code, 'Status', code]);
      }
    });
  });

  describe.concurrent('protocols of a watch', () => {
    const HANDSHAKE = [
      'Host: x',
      'Connection: Upgrade, close',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    const upgrade = (lines: readonly string[]): Promise<string> => {
      const request = [`GET ${PUBLIC_LIST}?watch=true&timeoutSeconds=1 HTTP/1.1`, ...HANDSHAKE, ...lines, '', ''];
      return sendRaw(server, request.join('\r\n'));
    };

    it('V-15: an Upgrade to WebSocket is ignored: the stream is a usual response', async () => {
      const text = await upgrade([
        `Authorization: Bearer ${server.adminToken}`,
        'Sec-WebSocket-Protocol: v4.channel.k8s.io',
      ]);
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(text).toMatch(/\r\nTransfer-Encoding: chunked\r\n/);
      expect(text).not.toMatch(/\r\n(Upgrade|Sec-WebSocket-[A-Za-z]+):/i);
      expect(text).toContain('{"type":"ADDED","object":');
      // The end of a chunked body: nothing of another protocol follows.
      expect(text).toMatch(/\r\n0\r\n\r\n$/);
    });

    it('A-04: a token among the subprotocols is no credential', async () => {
      const token = Buffer.from(server.adminToken).toString('base64url');
      const offer = `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${token}, v4.channel.k8s.io`;
      const text = await upgrade([offer]);
      expect(text).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
      expect(text).toMatch(/\r\nWWW-Authenticate: Bearer\r\n/);
      expect(server.output.stdout + server.output.stderr).not.toContain(token);
    });
  });

  it.concurrent('A-07: a client that may retry gets the time in whole seconds, in the header and in the body', async () => {
    const future = (await revisionNow(server)) + 1_000;
    const paths = [PUBLIC_LIST, CLUSTERS, `${CLUSTERS}/a`];
    for (const answer of await Promise.all(
      paths.map((path) => server.call('GET', `${path}?resourceVersion=${future}`)),
    )) {
      expect(answer.code).toBe(504);
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(String(answer.json.details.retryAfterSeconds)).toBe(answer.headers.get('retry-after'));
    }
    const mistake = await server.call('GET', `${PUBLIC_LIST}?limit=x`);
    expectStatus(mistake, badRequest('strconv.ParseInt: parsing "x": invalid syntax'));
    expect(mistake.headers.get('retry-after')).toBeNull();
  });

  it('V-15: a request after an Upgrade is not dropped silently: the connection is closed', async () => {
    const text = await sendRaw(
      server,
      'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n' +
        'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n',
    );
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(1);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import { realTiming, type Timing } from '../lib/backoff.ts';
import { createClient } from './create-client.ts';
import { ConnectionError, StatusError } from './errors.ts';
import { cluster, fakeTiming, json, type Responder, scriptServer, status } from './script-server.fixture.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(...responders: Responder[]) {
  const server = await scriptServer(responders);
  closers.push(server.close);
  const timing = fakeTiming();
  const warnings: string[] = [];
  const client = createClient({
    server: `${server.url}/`,
    token: 'token-1',
    timing,
    onWarning: (text) => warnings.push(text),
  });
  return { ...server, client, timing, warnings };
}

const page = (names: string[], next = '') =>
  json(200, {
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'ClusterList',
    metadata: { resourceVersion: '9', continue: next, ...(next === '' ? {} : { remainingItemCount: 1 }) },
    items: names.map((name) => cluster(name, 1)),
  });

describe('lists', () => {
  it('joins all pages', async () => {
    const { client, requests } = await serve(page(['a', 'b'], 'next'), page(['c']));
    const list = await client.listClusters({ limit: 2, labelSelector: 'env=prod' });
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c']);
    expect(list.metadata).toEqual({ resourceVersion: '9', continue: '' });
    expect(requests.map(({ path, query }) => [path, query])).toEqual([
      ['/auth/v1/clusters', { labelSelector: 'env=prod', limit: '2' }],
      ['/auth/v1/clusters', { labelSelector: 'env=prod', limit: '2', continue: 'next' }],
    ]);
    expect(requests[0]?.authorization).toBe('Bearer token-1');
  });

  it('requests the list again as one page after a 410', async () => {
    const { client, requests } = await serve(page(['a'], 'next'), status(410, 'Expired'), page(['a', 'b']));
    expect((await client.listClusters({ limit: 1 })).items).toHaveLength(2);
    expect(requests[2]?.query).toEqual({ limit: '0' });
  });
});

describe('tokens', () => {
  const granted = (headers: Record<string, string> = {}) =>
    json(201, { kind: 'TokenRequest', status: { token: 'abc', expirationTimestamp: '2026-09-01T13:00:00Z' } }, headers);

  it('sends the options and returns token, time of issue and warnings', async () => {
    const { client, requests, warnings } = await serve(
      granted({ Date: 'Tue, 01 Sep 2026 11:00:00 GMT', Warning: '299 - "say \\"no\\"", 299 - "a, b"' }),
    );
    const issued = await client.createToken({
      cluster: 'prod',
      namespace: 'ci',
      name: 'builder',
      audiences: ['vault'],
      expirationSeconds: 600,
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'x' },
      dryRun: true,
    });
    expect(requests[0]).toMatchObject({
      method: 'POST',
      path: '/orchestrator/prod/api/v1/namespaces/ci/serviceaccounts/builder/token',
      query: { dryRun: 'All' },
    });
    expect(JSON.parse(requests[0]?.body ?? '').spec).toEqual({
      audiences: ['vault'],
      expirationSeconds: 600,
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'x' },
    });
    expect(issued).toMatchObject({ token: 'abc', issuedAt: Date.parse('2026-09-01T11:00:00Z') });
    expect(issued.warnings).toEqual(['say "no"', 'a, b']);
    expect(warnings).toEqual(issued.warnings);
  });

  it.each(['', '.', '..'])('refuses a name that would change the path: %j', async (name) => {
    const { client, requests } = await serve(granted());
    await expect(client.createToken({ cluster: 'prod', namespace: 'ci', name })).rejects.toThrow(TypeError);
    await expect(client.createToken({ cluster: 'prod', namespace: name, name: 'x' })).rejects.toThrow(TypeError);
    expect(requests).toEqual([]);
  });

  it.each([
    ['no status', {}],
    ['no token', { status: { expirationTimestamp: '2026-09-01T13:00:00Z' } }],
    ['an empty token', { status: { token: '', expirationTimestamp: '2026-09-01T13:00:00Z' } }],
    ['a token that is no text', { status: { token: 1, expirationTimestamp: '2026-09-01T13:00:00Z' } }],
    ['no time', { status: { token: 'abc' } }],
    ['a time that is no text', { status: { token: 'abc', expirationTimestamp: 5 } }],
    ['no object', null],
    ['a time that is none', { status: { token: 'abc', expirationTimestamp: 'tomorrow' } }],
  ])('are not taken from an answer with %s', async (_, answer) => {
    const { client } = await serve(json(201, answer));
    const created = client.createToken({ cluster: 'prod', namespace: 'ci', name: 'builder' });
    await expect(created).rejects.toThrow('the response contains no token');
  });

  it('are requested together, as many as the server takes at once', async () => {
    const none = json(200, { items: [] });
    const { client, requests } = await serve(none, none, none, none);
    const passes = Array.from({ length: 1_001 }, (_, index) => ({ cluster: `c-${index}` }));
    await client.createPasses(passes);
    const sent = requests.map(({ body }) => (JSON.parse(body) as { items: { cluster: string }[] }).items);
    expect(sent.map(({ length }) => length)).toEqual([500, 500, 1]);
    expect(sent.flat().map(({ cluster: name }) => name)).toEqual(passes.map(({ cluster: name }) => name));
    await client.createPasses([{ cluster: 'a' }], { dryRun: true });
    expect(requests.map(({ query }) => query)).toEqual([{}, {}, {}, { dryRun: 'All' }]);
  });
});

describe('errors', () => {
  it('carry the Status and the warnings', async () => {
    const { client } = await serve(status(403, 'Forbidden', 'no', { Warning: '299 - "w"' }));
    const error = await client.request('GET', '/x').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StatusError);
    expect(error).toMatchObject({ message: 'no', code: 403, reason: 'Forbidden', warnings: ['w'] });
  });

  it('are ConnectionErrors without a server or JSON', async () => {
    const { client, close } = await serve((response) => response.end('not JSON'));
    await expect(client.request('GET', '/x')).rejects.toThrow(ConnectionError);
    await close();
    closers.length = 0;
    await expect(client.request('GET', '/x')).rejects.toThrow(/cannot be reached: .*ECONNREFUSED/);
  });

  it('are thrown for redirects, which would get the token', async () => {
    const { client, requests } = await serve((response) => response.writeHead(302, { Location: '/y' }).end());
    await expect(client.request('GET', '/x')).rejects.toThrow(ConnectionError);
    expect(requests).toHaveLength(1);
  });

  it('are thrown after three retries with Retry-After', async () => {
    const busy = status(429, 'TooManyRequests', 'busy', { 'Retry-After': '2' });
    const { client, timing } = await serve(busy, busy, json(200, { ok: true }));
    expect((await client.request('GET', '/x')).value).toEqual({ ok: true });
    expect(timing.delays).toEqual([2000, 2000]);
    const { client: other, requests } = await serve(busy, busy, busy, busy, busy);
    await expect(other.request('GET', '/x')).rejects.toThrow('busy');
    expect(requests).toHaveLength(4);
  });

  it.each([
    [503, '1', 2],
    [503, '29', 2],
    [503, '30', 1],
    [503, '31', 1],
    [503, '-1', 1],
    [503, 'Wed, 21 Oct 2026 07:28:00 GMT', 1],
    [409, '1', 1],
  ])('with %i and Retry-After: %s are thrown after %i requests', async (code, after, count) => {
    const busy = status(code, 'Busy', 'busy', { 'Retry-After': after });
    const { client, requests } = await serve(busy, status(400, 'BadRequest', 'no more'));
    await expect(client.request('GET', '/x')).rejects.toThrow(count === 1 ? 'busy' : 'no more');
    expect(requests).toHaveLength(count);
  });

  it.each([
    ['the error of the server, if it is a timeout', new DOMException('late', 'TimeoutError'), { code: 503 }],
    ['the reason of the caller, if it is not', new Error('not needed'), { message: 'not needed' }],
  ])('are, if the wait for a retry is aborted, %s', async (_, reason, expected) => {
    const server = await scriptServer([status(503, 'ServiceUnavailable', 'busy', { 'Retry-After': '20' })]);
    closers.push(server.close);
    const abort = new AbortController();
    const pause: Timing['pause'] = (ms, signal) => {
      abort.abort(reason);
      return realTiming.pause(ms, signal);
    };
    const client = createClient({ server: server.url, timing: { ...realTiming, pause } });
    await expect(client.request('GET', '/x', { signal: abort.signal })).rejects.toMatchObject(expected);
  });

  it('with 401 are retried once with another token', async () => {
    const { client, requests } = await serve(status(401, 'Unauthorized'));
    await expect(client.request('GET', '/x')).rejects.toMatchObject({ code: 401 });
    expect(requests).toHaveLength(1);

    const server = await scriptServer([status(401, 'Unauthorized'), json(200, { a: 1 })]);
    closers.push(server.close);
    const refused: (string | undefined)[] = [];
    const fresh = createClient({
      server: server.url,
      tokenProvider: (old) => {
        refused.push(old);
        return old === undefined ? 'old' : 'new';
      },
    });
    expect((await fresh.request('GET', '/x')).value).toEqual({ a: 1 });
    expect(refused).toEqual([undefined, 'old']);
    expect(server.requests.map(({ authorization }) => authorization)).toEqual(['Bearer old', 'Bearer new']);
  });

  it.each([
    [200, 129],
    [403, 2],
  ])('with %i and %i MiB are not read to the end, whatever their length says', async (code, mib) => {
    let sent = 0;
    const endless: Responder = (response) => {
      response.writeHead(code, { 'Content-Type': 'application/json' });
      const chunk = Buffer.alloc(1024 * 1024, ' ');
      const more = (error?: Error | null): void => {
        if (error || response.closed || sent === 2 * mib) return;
        sent += 1;
        response.write(chunk, more);
      };
      more();
    };
    const { client } = await serve(endless);
    await expect(client.request('GET', '/x')).rejects.toThrow(`of more than ${mib - 1} MiB`);
  });

  it.each(['ftp://x', 'https://user:pass@x'])('are thrown for the server %s', (server) => {
    expect(() => createClient({ server })).toThrow(TypeError);
  });
});

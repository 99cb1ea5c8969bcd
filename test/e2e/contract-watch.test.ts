import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badRequest, expectStatus } from './support/expect-status.ts';
import { addCluster, CLUSTERS, PUBLIC_LIST, revisionNow, touch } from './support/fleet.ts';
import { sendRaw } from './support/raw-http.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { inNamespace } from './support/token-world.ts';
import { brief, Watch } from './support/watch.ts';

/** Facts about watches that are not about one event: which errors are answers, which are events, and what may carry them. */

let server: Server;

beforeAll(async () => {
  server = await startServer({ users: { jane: [] } });
  await addCluster(server, 'a');
});
afterAll(() => server.destroy());

describe('V-12: what is wrong with the request is an answer', () => {
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

  it('a refusal', async () => {
    expectStatus(await watch('', { token: tokenOf('jane') }, inNamespace('pods', 'ci', 'a')), {
      code: 403,
      reason: 'Forbidden',
      message: 'pods is forbidden: User "jane" cannot watch resource "pods" in API group "" in the namespace "ci"',
      details: { kind: 'pods' },
    });
  });

  it('a form that can not be streamed', async () => {
    for (const accept of ['application/yaml', 'text/html']) {
      const answer = await watch('', { headers: { Accept: accept } });
      expect([answer.code, answer.json.reason]).toEqual([406, 'NotAcceptable']);
    }
  });

  it('what happens after that is an event, in a stream that began with 200', async () => {
    const future = (await revisionNow(server)) + 1_000;
    const query = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${future}`;
    const late = await Watch.open(server, `${PUBLIC_LIST}?watch=true&${query}`);
    expect([late.code, (await late.rest()).map(brief)]).toEqual([200, ['ERROR 504']]);
  });
});

describe('what may carry a watch', () => {
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

  it('V-15: an offer to speak WebSocket is not taken up: the stream is an answer like any other', async () => {
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

it('A-07: who may try again is told when, in whole seconds, in the header and in the answer', async () => {
  const future = (await touch(server, 'a', 'x')) + 1_000;
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

it('V-15: a request behind an offer to upgrade is not lost in silence: the connection is closed', async () => {
  const text = await sendRaw(
    server,
    'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n' +
      'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n',
  );
  expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(1);
  expect(text).toMatch(/\r\nConnection: close\r\n/);
});

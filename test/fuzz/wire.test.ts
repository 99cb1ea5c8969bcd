import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { CLUSTERS_PATH, type Fixture, openFixture, TOKEN_PATH } from '../../src/http/http.fixture.ts';
import { fuzz } from './support/fuzz.ts';

let fixture: Fixture;
beforeAll(async () => {
  const limits = { headersTimeoutMs: 500, requestTimeoutMs: 1_000, keepAliveTimeoutMs: 200, checkIntervalMs: 50 };
  fixture = await openFixture(undefined, { limits });
});
afterAll(() => fixture.server.close());

/** Sends the bytes, ends its side of the connection, and returns the response. */
const exchange = (bytes: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(fixture.port, '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(received));
    socket.end(Buffer.from(bytes, 'latin1'));
  });

const methods = fc.constantFrom(
  'GET',
  'POST',
  'PUT',
  'HEAD',
  'DELETE',
  'PATCH',
  'TRACE',
  'CONNECT',
  'OPTIONS',
  'get',
  'G\0T',
  'PRI',
  '',
);
const targets = fc.constantFrom(
  '/livez',
  CLUSTERS_PATH,
  TOKEN_PATH,
  '*',
  'http://x/livez',
  '//',
  '/%',
  '/\x80',
  '',
  '/a b',
  `/${'a'.repeat(9_000)}`,
);
const versions = fc.constantFrom(
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/1.2',
  'HTTP/0.9',
  'http/1.1',
  '',
  'HTTP/1.1 x',
);
const lines = fc.oneof(
  fc.constantFrom(
    'Host: x',
    'Host: y',
    'Authorization: Bearer admin',
    'Authorization: Bearer nobody',
    'Connection: close',
    'Connection: keep-alive, Authorization',
  ),
  fc.constantFrom(
    'Content-Length: 2',
    'Content-Length: 0',
    'Content-Length: -1',
    'Content-Length: 2, 2',
    'Content-Length: 99999999999',
    'Content-Length: 0x2',
  ),
  fc.constantFrom(
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding : chunked',
    ' folded: line',
    'no colon',
  ),
  fc.constantFrom(
    'Content-Type: application/json',
    'Expect: 100-continue',
    'Expect: x',
    'Upgrade: websocket',
    'Accept: */*;q=x',
    '__proto__: x',
    'X: \0',
    'X: \r',
    'X: \x80',
  ),
);
const bodies = fc.constantFrom(
  '',
  '{}',
  '2\r\n{}\r\n0\r\n\r\n',
  '2;ext=x\r\n{}\r\n0\r\nTrailer: x\r\n\r\n',
  'zz\r\n{}\r\n',
  'GET /livez HTTP/1.1\r\n\r\n',
  '\0',
);
const ends = fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r', '');
const request = fc
  .tuple(methods, targets, versions, fc.array(lines, { maxLength: 5 }), ends, bodies)
  .map(
    ([method, target, version, header, end, body]) =>
      [`${method} ${target} ${version}`, 'Host: z', ...header, '', ''].slice(0).join(end || '\r\n') + body,
  );

describe('C-H: any bytes', () => {
  fuzz(
    'get an HTTP response, never a 5xx, and the next connection is served',
    fc.array(
      fc.oneof(
        { weight: 9, arbitrary: request },
        { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    async (requests) => {
      const answer = await exchange(requests.join(''));
      if (answer !== '') expect(answer).toMatch(/^HTTP\/1\.1 [1-4]\d\d /);
      expect(answer).not.toMatch(/HTTP\/1\.1 5\d\d /);
      const { code } = await fixture.send({ path: '/livez', token: '' });
      expect(code).toBe(200);
    },
    { runs: 100 },
  );
});

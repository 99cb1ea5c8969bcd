import { describe, expect, test } from 'vitest';
import { startFixture, TOKEN_PATH } from '../../src/http/http.fixture.ts';
import { refusedRequests } from './support/hostile-wire.ts';

const HEAD = 'Host: x\r\nAuthorization: Bearer admin\r\nConnection: close\r\n';
const codeIn = (response: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1] ?? 0);
const bodyOf = (response: string): Record<string, unknown> =>
  JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4));
const answersIn = (response: string): number => [...response.matchAll(/HTTP\/1\.1 \d/g)].length;

const REFUSED = refusedRequests({ get: '/', post: TOKEN_PATH, head: HEAD });

describe('C-H, A20: refused bytes', () => {
  test.each(REFUSED)('%s is %i', async (_, code, bytes) => {
    const { raw, handled } = await startFixture();
    const response = await raw(bytes);
    expect(codeIn(response)).toBe(code);
    expect(answersIn(response)).toBe(1);
    expect(bodyOf(response)).toMatchObject({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code });
    expect(response).toMatch(/\r\nContent-Type: application\/json\r\n/);
    expect(response).toMatch(/\r\nAudit-Id: \S+\r\n/);
    expect(handled).toEqual([]);
  });

  test('C-H: CONNECT is closed without an answer', async () => {
    const { raw } = await startFixture();
    expect(await raw('CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n')).toBe('');
  });

  test('C-H: exactly 100 headers pass', async () => {
    const { raw } = await startFixture();
    const response = await raw(`GET /livez HTTP/1.1\r\n${HEAD}${'X: a\r\n'.repeat(97)}\r\n`);
    expect(codeIn(response)).toBe(200);
  });

  test('C-H: a header named __proto__ is a plain header', async () => {
    const { raw } = await startFixture();
    const response = await raw(`GET /livez HTTP/1.1\r\n${HEAD}__proto__: x\r\nconstructor: y\r\n\r\n`);
    expect(codeIn(response)).toBe(200);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  test('HTTP/1.0 needs no Host: load balancers check health without one', async () => {
    const { raw } = await startFixture();
    expect(codeIn(await raw('GET /livez HTTP/1.0\r\n\r\n'))).toBe(200);
  });

  test('an Upgrade is ignored', async () => {
    const { raw } = await startFixture();
    const response = await raw('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n');
    expect(codeIn(response)).toBe(200);
  });

  test('A22: an error in a pipelined request does not replace the response to the one before it', async () => {
    let release = (): void => {};
    const { raw, handled } = await startFixture(
      () => new Promise((resolve) => (release = () => resolve({ type: 'value', code: 200, value: { first: true } }))),
    );
    const request = `GET /auth/v1/clusters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`;
    const response = raw(`${request}GET / HTTP/1.1\r\nX : a\r\n\r\n`);
    await expect.poll(() => handled.length).toBe(1);
    release();
    const text = await response;
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code)).toEqual(['200', '400']);
    expect(text.indexOf('"first":true')).toBeLessThan(text.indexOf('HTTP/1.1 400'));
  });

  test('A22: two pipelined requests get two responses in order', async () => {
    const { raw } = await startFixture(({ path }) => ({ type: 'value', code: 200, value: { path } }));
    const first = '/auth/v1/clusters';
    const second = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
    const lines = `Host: x\r\nAuthorization: Bearer admin\r\n`;
    const text = await raw(
      `GET ${first} HTTP/1.1\r\n${lines}\r\nGET ${second} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`,
    );
    expect([...text.matchAll(/\{"path":"([^"]+)"\}/g)].map(([, path]) => path)).toEqual([first, second]);
  });

  test('a body that is cut off has no effect', async () => {
    const { port, handled, records } = await startFixture();
    const { connect } = await import('node:net');
    const socket = connect(port, '127.0.0.1');
    socket.end(`POST ${TOKEN_PATH} HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{}`);
    await expect.poll(() => records.length).toBe(1);
    expect(handled).toEqual([]);
  });

  test('Expect: 100-continue is granted only to a request that would be served', async () => {
    const { raw, handled } = await startFixture();
    const lines =
      'Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n';
    const served = await raw(`POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n${lines}{}`);
    expect(served).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    const refused = await raw(`POST ${TOKEN_PATH} HTTP/1.1\r\nHost: x\r\n${lines}`);
    expect(refused).toMatch(/^HTTP\/1\.1 401 /);
    expect(handled).toHaveLength(1);
  });

  test('A21: a request that never ends is a 408, and its connection is closed', async () => {
    const { raw } = await startFixture(undefined, {
      limits: { headersTimeoutMs: 20, requestTimeoutMs: 20, checkIntervalMs: 5 },
    });
    const headers = await raw('GET / HTTP/1.1\r\nHost: x\r\n');
    expect(codeIn(headers)).toBe(408);
    expect(bodyOf(headers)).toMatchObject({ kind: 'Status', code: 408 });
    const body = await raw(
      `POST ${TOKEN_PATH} HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{`,
    );
    expect(codeIn(body)).toBe(408);
    expect(answersIn(body)).toBe(1);
  });
});

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createAuthority } from '../../clusters/upstream/certificates.fixture.ts';
import { checkAtCluster, checkAtServer } from './check-token.ts';
import type { Connection } from './connection.ts';

const authority = createAuthority('CA');
const { cert, key } = authority.issue({ names: ['127.0.0.1'] });
const requests: string[] = [];
let code = 200;
const note = (request: IncomingMessage): void =>
  void requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
const secure = createTlsServer({ cert, key }, (request, response) => {
  note(request);
  response.writeHead(code, { Location: '/elsewhere' }).end('{}');
});
const plain: Server = createServer((request, response) => {
  note(request);
  response.end('{}');
});
const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

beforeAll(async () => {
  for (const each of [secure, plain]) {
    each.listen(0, '127.0.0.1');
    await once(each, 'listening');
  }
});
beforeEach(() => {
  requests.length = 0;
  code = 200;
});
afterAll(() => {
  for (const each of [secure, plain]) {
    each.closeAllConnections();
    each.close();
  }
});

const OPTIONS = { env: {}, signal: new AbortController().signal };
const execInfo = (cluster: object): string => JSON.stringify({ spec: { cluster } });
const here = () => ({
  server: `https://127.0.0.1:${portOf(secure)}/`,
  'certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
});
const connection = (changes: Partial<Connection> = {}): Connection =>
  ({
    server: `https://127.0.0.1:${portOf(secure)}`,
    certificateAuthority: authority.cert,
    insecureSkipTlsVerify: false,
    productName: 'orchestrator',
    ...changes,
  }) as Connection;

it.each([
  [200, 'accepted'],
  [201, 'accepted'],
  // The token is good, and may not do this.
  [403, 'accepted'],
  [401, 'refused'],
  [302, 'unknown'],
  [404, 'unknown'],
  [429, 'unknown'],
  [503, 'unknown'],
])('a check that is answered with %i is %s, at the server and at the cluster', async (status, verdict) => {
  code = status;
  expect(await checkAtServer(connection(), 'alpha', 'the-token', OPTIONS)).toBe(verdict);
  expect(await checkAtCluster(execInfo(here()), 'the-token', OPTIONS)).toBe(verdict);
  expect(requests).toEqual([
    'POST /orchestrator/alpha/apis/authentication.k8s.io/v1/selfsubjectreviews Bearer the-token',
    'GET /version Bearer the-token',
  ]);
});

it.each<[string, () => string | undefined]>([
  ['without a question', () => undefined],
  ['without a cluster', () => JSON.stringify({ spec: {} })],
  ['over plain HTTP', () => execInfo({ server: `http://127.0.0.1:${portOf(plain)}` })],
  ['without the CA of the cluster', () => execInfo({ server: here().server })],
  ['with another name in the certificate', () => execInfo({ ...here(), 'tls-server-name': 'other' })],
  ['through a proxy', () => execInfo({ ...here(), 'proxy-url': `http://127.0.0.1:${portOf(plain)}` })],
  ['with a certificate that is not verified', () => execInfo({ ...here(), 'insecure-skip-tls-verify': true })],
])('no token is sent to a cluster %s', async (_, info) => {
  expect(await checkAtCluster(info(), 'the-token', OPTIONS)).toBe('unknown');
  expect(requests).toEqual([]);
});

it('no token is sent after the deadline of the run', async () => {
  const late = { env: {}, signal: AbortSignal.abort() };
  expect(await checkAtServer(connection(), 'alpha', 'the-token', late)).toBe('unknown');
  expect(await checkAtCluster(execInfo(here()), 'the-token', late)).toBe('unknown');
  expect(requests).toEqual([]);
});

import type { Socket } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { type FakeAnswer, type SeenRequest, startApiServer } from '../../clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../clusters/upstream/certificates.fixture.ts';
import { createFetchDocument, webOrigin } from './fetch-document.ts';

const authority = createAuthority('provider');

/** As kube-apiserver answers for a document that it has in one media type. */
const onlyAs =
  (type: string) =>
  (_socket: Socket, accept: unknown): FakeAnswer =>
    String(accept)
      .split(',')
      .some((each) => each.trim() === type)
      ? { status: 200, body: '{"keys":[]}' }
      : { status: 406 };

const ANSWERS: Record<string, (socket: Socket, accept: unknown) => FakeAnswer | undefined> = {
  '/.well-known/openid-configuration': onlyAs('application/json'),
  '/openid/v1/jwks': onlyAs('application/jwk-set+json'),
  '/good': () => ({ status: 200, body: '{"a":1}' }),
  '/missing': () => ({ status: 404 }),
  '/elsewhere': () => ({ status: 302, headers: { location: '/good' } }),
  '/text': () => ({ status: 200, body: 'secret words' }),
  '/huge': () => ({ status: 200, body: `"${'x'.repeat(300_000)}"` }),
  '/silent': () => undefined,
  '/slow': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{');
    return undefined;
  },
};

const answer = ({ path, headers }: SeenRequest, socket: Socket) => ANSWERS[path]?.(socket, headers.accept);
const server = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), answer);
afterAll(() => server.close());

const get = (path: string, { ca = authority.cert, ms = 5_000 }: { ca?: string | undefined; ms?: number } = {}) =>
  createFetchDocument({ certificateAuthority: ca, userAgent: 'test/1' })(
    `https://127.0.0.1:${server.port}${path}`,
    AbortSignal.timeout(ms),
  );

describe('a document of another server', () => {
  it('is read over TLS with a certificate of the configured authority', async () => {
    expect(await get('/good')).toEqual({ a: 1 });
    expect(server.requests.at(-1)?.headers).toMatchObject({ 'user-agent': 'test/1' });
  });

  it.each(['/.well-known/openid-configuration', '/openid/v1/jwks'])(
    'O-04: reads %s of kube-apiserver',
    async (path) => {
      expect(await get(path)).toEqual({ keys: [] });
    },
  );

  it.each([
    ['/missing', 'answered with 404'],
    ['/elsewhere', 'answered with 302'],
    ['/text', 'answered with something that is not JSON'],
    ['/huge', 'answered with more than 262144 bytes'],
  ])('%s is refused: it %s', async (path, problem) => {
    await expect(get(path)).rejects.toThrow(`${server.port}${path}: ${problem}`);
  });

  it.each(['/silent', '/slow'])('%s is not waited for beyond the time that is given', async (path) => {
    await expect(get(path, { ms: 50 })).rejects.toThrow(/did not answer in time/);
  });

  it('another authority, or none, is not enough', async () => {
    await expect(get('/good', { ca: createAuthority('other').cert })).rejects.toThrow(/certificate/);
    const system = createFetchDocument({ userAgent: 'test/1' });
    await expect(system(`https://127.0.0.1:${server.port}/good`, AbortSignal.timeout(5_000))).rejects.toThrow(
      /certificate/,
    );
  });
});

it.each([
  ['https://id.example.com/token', 'https://id.example.com'],
  ['https://ID.example.com:8443/a?b#c', 'https://id.example.com:8443'],
  ['https://[::1]:9/token', 'https://[::1]:9'],
  ['https://user:secret@id.example.com/', 'https://id.example.com'],
])('the origin of %s', (address, origin) => expect(webOrigin(address)).toBe(origin));

it.each([
  'http://id.example.com/token',
  'javascript:alert(1)',
  'https://id.example.com;script-src/token',
  "https://id.example.com,'unsafe-inline'/token",
  'https://*/token',
  '/token',
  '',
  7,
  undefined,
])('%j is no origin that a policy could name', (address) => expect(webOrigin(address)).toBeUndefined());

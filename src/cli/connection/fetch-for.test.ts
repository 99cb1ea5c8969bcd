import { once } from 'node:events';
import { createServer as createProxy, type Server } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAuthority } from '../../clusters/upstream/certificates.fixture.ts';
import { fetchFor, proxyOf } from './fetch-for.ts';

const authority = createAuthority('CA of the server');
const { cert, key } = authority.issue({ names: ['server.example', '127.0.0.1'] });
const server = createServer({ cert, key }, (request, response) => {
  switch (request.url) {
    case '/redirect':
      return response.writeHead(307, { Location: '/x' }).end();
    case '/half':
      return response.writeHead(200, { 'Content-Length': '9' }).flushHeaders();
    case '/silent':
      return silent.resolve();
    default:
      return response.end(`${request.headers.host}`);
  }
});
/** A request has arrived that is not answered. */
const silent = Promise.withResolvers<void>();
const tunnels: string[] = [];
/** Every name is this machine. */
const proxy: Server = createProxy().on('connect', (request, socket) => {
  tunnels.push(request.url ?? '');
  const upstream = connect(portOf(server), '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
  socket.on('error', () => upstream.destroy());
  upstream.on('error', () => socket.destroy());
  socket.pipe(upstream).pipe(socket);
});
const portOf = (listening: { address(): unknown }): number => (listening.address() as AddressInfo).port;
const trust = { certificateAuthority: authority.cert, insecureSkipTlsVerify: false };

beforeAll(async () => {
  for (const each of [server, proxy]) {
    each.listen(0, '127.0.0.1');
    await once(each, 'listening');
  }
});
afterAll(() => {
  for (const each of [server, proxy]) {
    each.closeAllConnections();
    each.close();
  }
});

it('CP-96: goes through HTTPS_PROXY, verifies the server behind it, and knows NO_PROXY', async () => {
  const env = { HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`, NO_PROXY: '127.0.0.1' };
  const fetch = fetchFor(trust, env);
  const proxied = await fetch('https://server.example/x');
  expect([proxied.status, await proxied.text(), tunnels]).toEqual([200, 'server.example', ['server.example:443']]);
  const again = await fetch('https://server.example/x');
  expect([again.status, await again.text(), tunnels.length]).toEqual([200, 'server.example', 1]);
  const direct = await fetch(`https://127.0.0.1:${portOf(server)}/x`);
  expect([direct.status, tunnels.length]).toEqual([200, 1]);
  await expect(fetch('https://other.example/x')).rejects.toThrow('its certificate is for another name');
  await expect(
    fetchFor({ ...trust, certificateAuthority: undefined }, env)('https://server.example/x'),
  ).rejects.toThrow('unable to verify the first certificate');
});

it('follows no redirect, which would get the token', async () => {
  expect((await fetchFor(trust, {})(`https://127.0.0.1:${portOf(server)}/redirect`)).status).toBe(307);
});

it('ends with its signal while the body is read', async () => {
  const fetch = fetchFor(trust, {});
  for (const read of [(response: Response) => response.text(), ({ body }: Response) => body?.getReader().read()]) {
    const stop = new AbortController();
    const response = await fetch(`https://127.0.0.1:${portOf(server)}/half`, { signal: stop.signal });
    expect(response.headers.get('Content-Length')).toBe('9');
    const reading = read(response);
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  }
});

const isProxied = (address: string, noProxy = ''): boolean | undefined =>
  proxyOf({ HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: noProxy })?.isFor(new URL(address));

it.each(['proxy:3128', 'http://proxy:3128', 'user:secret@proxy:3128'])(
  '%s is the address of a proxy',
  (HTTPS_PROXY) => {
    const proxy = proxyOf({ HTTPS_PROXY });
    expect(proxy).toMatchObject({
      url: expect.stringMatching(/^http:.*proxy:3128\/$/),
      name: 'proxy:3128 of HTTPS_PROXY',
    });
  },
);

it.each([
  ...['socks5://proxy:1080', 'ftp://proxy', 'http://[', 'a b', 'http:///proxy', 'http:/proxy:1', ' http://proxy'],
  ...['proxy:', ':3128', 'proxy:65536', 'u:p%zz@proxy', 'u:p^@proxy', '127.1:3128', '0x7f.0.0.1', 'http://proxy\\x'],
])('%s is refused, and never passed by', (HTTPS_PROXY) => {
  const proxy = proxyOf({ HTTPS_PROXY, NO_PROXY: 'other.example' });
  const problem = 'HTTPS_PROXY must be the http or https address of a proxy';
  expect(() => proxy?.isFor(new URL('https://pass.example'))).toThrow(problem);
  expect(proxy?.isFor(new URL('https://other.example'))).toBe(false);
});

it.each(['https://localhost', 'https://127.0.0.1:6443', 'https://127.1.2.3', 'https://[::1]:6443'])(
  'is not for %s, which is this machine',
  (address) => expect(isProxied(address)).toBe(false),
);

it.each([
  ['*', 'https://pass.example.com'],
  ['a.example, pass.example.com', 'https://pass.example.com'],
  ['Example.COM', 'https://pass.example.com'],
  ['.example.com', 'https://pass.example.com'],
  ['*.example.com', 'https://pass.example.com'],
  ['pass.example.com:443', 'https://pass.example.com'],
  ['10.0.0.0/8', 'https://10.96.0.1'],
  ['10.96.0.1', 'https://10.96.0.1:6443'],
  ['10.96.0.1:6443', 'https://10.96.0.1:6443'],
  ['fd00::/8', 'https://[fd00::1]:6443'],
  ['fd00::1', 'https://[fd00::1]'],
  ['[fd00::1]:6443', 'https://[fd00::1]:6443'],
])('NO_PROXY=%s covers %s', (noProxy, address) => expect(isProxied(address, noProxy)).toBe(false));

it.each([
  ['', 'https://pass.example.com'],
  ['.example.com', 'https://example.com'],
  ['example.com', 'https://notexample.com'],
  ['pass.example.com:8443', 'https://pass.example.com'],
  ['10.0.0.0/8', 'https://11.0.0.1'],
  ['10.0.0.0/8', 'https://10.example.com'],
  ['10.0.0.0/33', 'https://10.0.0.1'],
  ['fd00::/8', 'https://10.0.0.1'],
  ['10.0.0.1', 'https://10.0.0.10'],
  ['[fd00::1]:443', 'https://[fd00::1]:6443'],
])('NO_PROXY=%s does not cover %s', (noProxy, address) => expect(isProxied(address, noProxy)).toBe(true));

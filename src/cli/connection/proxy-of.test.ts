import { expect, it } from 'vitest';
import { proxyOf } from './proxy-of.ts';

const isProxied = (address: string, noProxy = ''): boolean | undefined =>
  proxyOf({ HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: noProxy })?.isFor(new URL(address));

it('is none without HTTPS_PROXY', () => {
  expect(proxyOf({})).toBeUndefined();
  expect(proxyOf({ HTTPS_PROXY: '', NO_PROXY: '*' })).toBeUndefined();
});

it('reads upper case first, as Go does', () => {
  const lower = { https_proxy: 'http://a', no_proxy: 'c.example' };
  expect(proxyOf(lower)).toMatchObject({ url: 'http://a/', name: 'a of https_proxy' });
  const both = proxyOf({ ...lower, HTTPS_PROXY: 'http://b', NO_PROXY: 'd.example' });
  expect(both).toMatchObject({ url: 'http://b/', name: 'b of HTTPS_PROXY' });
  expect(['c', 'd'].map((name) => both?.isFor(new URL(`https://${name}.example`)))).toEqual([true, false]);
});

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

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONSOLE_DIST } from '../../scripts/setup-console.mjs';
import { sendRaw } from './support/raw-http.ts';
import { sharedServer } from './support/shared-server.ts';

const server = sharedServer();
let script = '';

beforeAll(async () => {
  script = /assets\/index-[\w-]+\.js/.exec((await page()).text)?.[0] ?? '';
});

const page = () => server.call('GET', '/console/', { token: null });
const get = (path: string, headers: Record<string, string> = {}) =>
  server.call('GET', `/console/${path}`, { token: null, headers });

describe('the files of the console', () => {
  it('decision 8: are public, and nothing beside them is', async () => {
    expect((await page()).code).toBe(200);
    expect((await get(script)).code).toBe(200);
    expect((await get('settings.json')).json).toEqual({
      productName: 'orchestrator',
      version: expect.any(String),
      maxRequestSeconds: 43_200,
    });
    for (const path of ['nothing.js', 'assets', 'sources.txt', 'index.html.br', 'assets/../index.html.gz']) {
      expect([400, 401], path).toContain((await get(path)).code);
    }
  });

  it('redirects a path without the trailing slash', async () => {
    const { code, headers } = await server.call('GET', '/console', { token: null });
    expect([code, headers.get('location')]).toEqual([308, 'console/']);
  });

  it('have a content security policy that allows only these files', async () => {
    for (const path of ['', script, 'settings.json']) {
      const { headers } = await get(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("require-trusted-types-for 'script'");
      expect(policy).not.toMatch(/unsafe|\*|data:|blob:|http/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-frame-options')).toBe('DENY');
    }
  });

  it('are cached: the page is revalidated each time, its assets are immutable', async () => {
    const first = await page();
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const tag = first.headers.get('etag') ?? '';
    const again = await get('', { 'If-None-Match': `W/${tag}` });
    expect([again.code, again.text]).toEqual([304, '']);
    expect((await get('', { 'If-None-Match': '"other"' })).code).toBe(200);
    expect((await get(script)).headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  });

  it('are sent with the encoding that was compressed at build time', async () => {
    const plain = readFileSync(join(CONSOLE_DIST, script));
    const raw = async (coding: string) => {
      const lines = [`GET /console/${script} HTTP/1.1`, 'Host: x', `Accept-Encoding: ${coding}`, 'Connection: close'];
      const bytes = Buffer.from(await sendRaw(server, `${lines.join('\r\n')}\r\n\r\n`), 'latin1');
      const end = bytes.indexOf('\r\n\r\n');
      return { head: bytes.subarray(0, end).toString(), body: bytes.subarray(end + 4) };
    };
    const br = await raw('gzip, br');
    expect(br.head).toContain('Content-Encoding: br');
    expect(brotliDecompressSync(br.body).equals(plain)).toBe(true);
    const gzip = await raw('gzip');
    expect(gzip.head).toContain('Content-Encoding: gzip');
    expect(gunzipSync(gzip.body).equals(plain)).toBe(true);
    const identity = await raw('identity');
    expect(identity.head).not.toContain('Content-Encoding');
    expect(identity.body.equals(plain)).toBe(true);
    const tags = [br, gzip, identity].map(({ head }) => /ETag: (\S+)/.exec(head)?.[1]);
    expect(new Set(tags).size).toBe(3);
  });

  it('are read-only', async () => {
    const head = await server.call('HEAD', '/console/', { token: null });
    expect([head.code, head.text]).toEqual([200, '']);
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect((await server.call(method, '/console/', { token: null })).code, method).toBe(405);
    }
  });

  it('A16: a path outside of the folder finds nothing', async () => {
    for (const path of [
      '/console/../package.json',
      '/console/%2e%2e/package.json',
      '/console/..%2fpackage.json',
      '/console/assets/..%5c..%5cpackage.json',
      '/console//etc/passwd',
      '/console/index.html%00.js',
      '/console/__proto__',
      '/console/constructor',
      '/orchestrator/alpha/console/index.html',
    ]) {
      const text = await sendRaw(server, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(text, path).toMatch(/^HTTP\/1\.1 40[01] /);
      expect(text).not.toContain('"dependencies"');
    }
  });
});

describe('the build', () => {
  const files = readdirSync(CONSOLE_DIST, { recursive: true, encoding: 'utf8' });

  const gzipped = (names: Iterable<string>): number =>
    [...names].reduce((sum, name) => sum + readFileSync(join(CONSOLE_DIST, `${name}.gz`)).length, 0);

  it('has at most 180 KB of compressed script', () => {
    const scripts = files.filter((name) => name.endsWith('.js'));
    expect(scripts.length).toBeGreaterThan(5);
    expect(gzipped(scripts)).toBeLessThan(180 * 1024);
  });

  it.each(['', 'overview'])('loads at most 110 KB of compressed script for the first page %j', (page) => {
    const html = readFileSync(join(CONSOLE_DIST, 'index.html'), 'utf8');
    const loaded = new Set([...html.matchAll(/"\.\/(assets\/[^"]+\.js)"/g)].map(([, name = '']) => name));
    const isPage = (name: string): boolean => name.includes('-page-');
    // The one of an administrator; others load nothing else.
    const own = files.filter((name) => page !== '' && new RegExp(`^assets/${page}-page-.*\\.js$`).test(name));
    for (const name of own) loaded.add(name);
    // Scripts that are added meanwhile are visited, too.
    for (const name of loaded) {
      const text = readFileSync(join(CONSOLE_DIST, name), 'utf8');
      for (const [, other = ''] of text.matchAll(/(?:from|import)\s*["'`]\.\/([^"'`]+\.js)["'`]/g))
        loaded.add(`assets/${other}`);
    }
    expect([own.length, [...loaded].filter(isPage)]).toEqual([page === '' ? 0 : 1, own]);
    expect(gzipped(loaded)).toBeLessThanOrEqual(110_000);
  });

  it('has no inline script or style and loads nothing from other servers', () => {
    const html = readFileSync(join(CONSOLE_DIST, 'index.html'), 'utf8');
    expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|\son\w+=/i);
    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address);
    expect(loaded.length).toBeGreaterThan(2);
    for (const address of loaded) expect(address).toMatch(/^\.\//);
  });
});

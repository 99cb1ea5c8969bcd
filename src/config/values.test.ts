import { mkdtempSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  algorithmsByAudience,
  baseUrl,
  boolean,
  duration,
  existing,
  externalSigner,
  inventoryNamespaces,
  isLoopback,
  issuerUrl,
  isWildcard,
  labelKey,
  labelValue,
  listenAddress,
  listOf,
  oneOf,
  origin,
  productName,
  ValueError,
  workers,
} from './values.ts';

const context = { cwd: '/srv' };

describe('listenAddress', () => {
  it.each([
    ['127.0.0.1:8080', '127.0.0.1', 8080],
    ['localhost:0', 'localhost', 0],
    ['[::1]:443', '::1', 443],
    ['0.0.0.0:65535', '0.0.0.0', 65_535],
    ['a.example.com:80', 'a.example.com', 80],
  ])('%s', (text, host, port) => {
    expect(listenAddress(text)).toEqual({ host, port });
  });

  it.each([
    '',
    ':8080',
    '8080',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:65536',
    '127.0.0.1:+80',
    '::1:80',
    '[::1]',
    '[::1%lo]:80',
    '[127.0.0.1]:80',
    '127.1:80',
    '0x7f.1:80',
    '2130706433:80',
    '999.0.0.1:80',
    'a b:80',
    'a..b:80',
    '-a:80',
    'http://a:80',
    `${'a'.repeat(64)}:80`,
    '127.0.0.1:80\n',
  ])('refuses %j', (text) => {
    expect(() => listenAddress(text)).toThrow(ValueError);
  });
});

describe('what an address means', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost', 'LocalHost'])(
    '%s is loopback',
    (host) => {
      expect(isLoopback(host)).toBe(true);
    },
  );

  it.each([
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '126.255.255.255',
    '128.0.0.1',
    '::ffff:10.0.0.1',
    'localhost.example.com',
    'not-localhost',
    'a.localhost',
    '127.0.0.1.example',
  ])('%s is not loopback', (host) => {
    expect(isLoopback(host)).toBe(false);
  });

  it.each(['0.0.0.0', '::', '0:0::0', '::ffff:0.0.0.0'])('%s names no address', (host) => {
    expect(isWildcard(host)).toBe(true);
  });

  it.each(['127.0.0.1', '::1', 'example.com'])('%s names an address', (host) => {
    expect(isWildcard(host)).toBe(false);
  });
});

describe('origins', () => {
  it('are those that browsers and desktop programs send', () => {
    const text = 'https://agent.example.com, http://127.0.0.1:6274,vscode-file://vscode-app';
    expect(listOf(origin)(text, { cwd: '' })).toEqual([
      'https://agent.example.com',
      'http://127.0.0.1:6274',
      'vscode-file://vscode-app',
    ]);
  });

  it.each([
    ['https://agent.example.com/', 'without a path'],
    ['*', 'such as https://agent.example.com'],
    ['null', 'such as https://agent.example.com'],
    ['', 'such as https://agent.example.com'],
    ['https://user@agent.example.com', 'such as https://agent.example.com'],
    ['https://Agent.example.com', 'as browsers write it'],
    ['https://agent.example.com:443', 'as browsers write it'],
  ])('%j is none', (text, why) => expect(() => listOf(origin)(text, { cwd: '' })).toThrow(why));
});

describe('issuerUrl', () => {
  it.each(['https://id.example.com', 'https://id.example.com/', 'https://id.example.com/realms/one'])(
    '%s stays as it is written',
    (text) => expect(issuerUrl(text)).toBe(text),
  );

  it.each([
    ['http://id.example.com', /an https address/],
    ['id.example.com', /an https address/],
    ['https://user:word@id.example.com', /without a user or a password/],
    ['https://id.example.com?a=b', /without a query/],
    ['https://id.example.com; script-src *', /an https address/],
    ['https://id.example.com/a b', /without a query/],
  ])('%s is refused', (text, message) => expect(() => issuerUrl(text)).toThrow(message));
});

describe('baseUrl', () => {
  it.each([
    'https://clusterpass.example.com',
    'http://127.0.0.1:8080',
    'https://example.com/pass/a',
    'https://[::1]:8443',
  ])('takes %s', (text) => {
    expect(baseUrl(text)).toBe(text);
  });

  it.each([
    ['clusterpass.example.com', /such as https/],
    ['ftp://example.com', /such as https/],
    ['https://', /such as https/],
    ['https://u:p@example.com', /without a user/],
    ['https://example.com?', /without a query/],
    ['https://example.com/a?b=c', /without a query/],
    ['https://example.com#', /fragment/],
    ['https://example.com/', /written as https:\/\/example\.com$/],
    ['https://example.com/a//', /written as https:\/\/example\.com\/a$/],
    ['https://Example.com', /written as https:\/\/example\.com$/],
    ['https://example.com:443', /written as https:\/\/example\.com$/],
    ['https://example.com/a/../b', /written as https:\/\/example\.com\/b$/],
    ['https://exam\tple.com', /written as/],
    [' https://example.com', /written as/],
    ['https:example.com', /written as/],
  ])('refuses %j', (text, message) => {
    expect(() => baseUrl(text)).toThrow(message);
  });
});

describe('productName', () => {
  it.each(['orchestrator', 'kubernetes', 'k8s', '3scale', 'a-b'])('takes %s', (text) => {
    expect(productName(text)).toBe(text);
  });

  it.each([
    'api',
    'apis',
    'auth',
    'openid',
    'openapi',
    'version',
    'healthz',
    'livez',
    'readyz',
    'metrics',
    'mcp',
    'console',
    '',
    '-a',
    'a-',
    'A',
    'a/b',
    '..',
    'a.b',
    'a'.repeat(64),
  ])('refuses %j', (text) => {
    expect(() => productName(text)).toThrow(ValueError);
  });

  it('refuses the first segment of every path that the sources serve', async () => {
    const root = join(import.meta.dirname, '..');
    const files = (await readdir(join(root, 'http'), { recursive: true }))
      .filter((file) => file.endsWith('.ts') && !/\.(?:test|fixture)\.ts$/.test(file))
      .map((file) => join('http', file));
    const segments = new Set<string>();
    for (const file of [...files, 'tokens/issuer-documents.ts', 'api/pass-audience.ts']) {
      const text = await readFile(join(root, file), 'utf8');
      for (const [, segment = ''] of text.matchAll(/['`]\/([a-z][a-z0-9-]*)(?=[/'`])/g)) segments.add(segment);
    }
    // The default of the option, and a part of other paths.
    for (const other of ['orchestrator', 'v1', 'people']) segments.delete(other);
    expect([...segments]).toEqual(expect.arrayContaining(['api', 'oauth', 'openid', 'mcp', 'console']));
    for (const segment of segments) expect(() => productName(segment), segment).toThrow(ValueError);
  });
});

describe('plain values', () => {
  it('T-27: a longest lifetime is between an hour and 2^32 seconds', () => {
    const parse = duration('1h', '4294967296s');
    expect(parse('1h', context)).toBe(3_600_000);
    expect(parse('4294967296s', context)).toBe(4_294_967_296_000);
    expect(() => parse('3599s', context)).toThrow(/from 1h to 4294967296s/);
    expect(() => parse('4294967297s', context)).toThrow(/from 1h/);
    expect(() => parse('3600', context)).toThrow(/such as 24h/);
  });

  it('choices, switches and workers say what would be right', () => {
    expect(oneOf('ES256', 'RS256')('RS256', context)).toBe('RS256');
    expect(() => oneOf('ES256', 'RS256')('none', context)).toThrow('expected ES256 or RS256');
    expect([boolean('true'), boolean('false')]).toEqual([true, false]);
    expect(() => boolean('yes')).toThrow('expected true or false');
    expect([workers('1'), workers('64')]).toEqual([1, 64]);
    expect(workers('auto')).toBe(availableParallelism());
    for (const wrong of ['0', '65', 'all']) expect(() => workers(wrong)).toThrow(/from 1 to 64, or auto/);
  });
});

describe('a duration or never', () => {
  const parse = duration('2h', '87600h', { orNever: true });

  it('is a duration within limits, or 0', () => {
    expect(['0', '0s', '2h', '2160h'].map((text) => parse(text, context))).toEqual([0, 0, 7_200_000, 7_776_000_000]);
    for (const text of ['', '1h', '90d', '-1h', '87601h']) {
      expect(() => parse(text, context), text).toThrow(/or 0 for never$/);
    }
  });
});

describe('algorithmsByAudience', () => {
  const read = (text: string) => [...algorithmsByAudience(text)];

  it('is one algorithm for each audience', () => {
    expect(read('api://AzureADTokenExchange=RS256')).toEqual([['api://AzureADTokenExchange', 'RS256']]);
    expect(read('a=ES384, https://b.example/?x=1=RS256,a=ES384')).toEqual([
      ['a', 'ES384'],
      ['https://b.example/?x=1', 'RS256'],
    ]);
  });

  it.each([
    ['', /expected AUDIENCE=ALGORITHM, such as/],
    ['azure', /expected AUDIENCE=ALGORITHM/],
    ['azure=', /with one of ES256, ES384, RS256/],
    ['azure=rs256', /with one of ES256, ES384, RS256/],
    ['azure=HS256', /with one of ES256, ES384, RS256/],
    ['=RS256', /expected AUDIENCE=ALGORITHM/],
    ['a,b=RS256', /an audience with a comma cannot be given/],
    ['a=RS256,', /expected AUDIENCE=ALGORITHM/],
    ['a=RS256,a=ES256', /one algorithm for the audience "a"/],
    ['a\tb=RS256', /control character/],
    [`${'a'.repeat(1025)}=RS256`, /at most 1024 characters/],
  ])('%s is refused', (text, problem) => {
    expect(() => read(text)).toThrow(problem);
  });
});

describe('externalSigner', () => {
  it('is a socket, or a program by its full path with arguments that no shell reads', () => {
    expect(externalSigner('unix:run/signer.sock', { cwd: '/srv' })).toEqual({
      type: 'unix',
      path: '/srv/run/signer.sock',
    });
    expect(externalSigner('exec:/bin/signer  --slot 1 $(id)', { cwd: '/' })).toEqual({
      type: 'exec',
      command: '/bin/signer',
      args: ['--slot', '1', '$(id)'],
    });
  });

  it.each(['', 'unix:', 'exec:', 'exec:signer', 'exec:./signer', 'tcp:127.0.0.1:1', '/run/signer.sock'])(
    '%j is refused',
    (text) => {
      expect(() => externalSigner(text, { cwd: '/' })).toThrow(ValueError);
    },
  );
});

describe('the inventory', () => {
  it('has namespaces with selectors, which may contain commas', () => {
    expect(inventoryNamespaces('default')).toEqual([{ name: 'default', selector: '' }]);
    expect(inventoryNamespaces('a=;b=env in (x,y),!z; c=env=prod')).toEqual([
      { name: 'a', selector: '' },
      { name: 'b', selector: 'env in (x,y),!z' },
      { name: 'c', selector: 'env=prod' },
    ]);
  });

  it.each(['', '=x', 'A', 'a;', 'a;a=x', 'a.b'])('the namespaces %j are refused', (text) => {
    expect(() => inventoryNamespaces(text)).toThrow(ValueError);
  });

  it('has names that are label values, and properties that are label keys', () => {
    expect(labelValue('Fleet_1')).toBe('Fleet_1');
    for (const text of ['', 'a b', 'a'.repeat(64)]) expect(() => labelValue(text)).toThrow(ValueError);
    expect(listOf(labelKey)('env, example.com/region', { cwd: '' })).toEqual(['env', 'example.com/region']);
    const long = `${'a.'.repeat(120)}com/${'k'.repeat(60)}`;
    for (const text of ['', 'a,,b', 'a b', long]) expect(() => listOf(labelKey)(text, { cwd: '' })).toThrow(ValueError);
  });
});

describe('existing', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'clusterpass-values-'));
  writeFileSync(join(cwd, 'there'), '');

  it('takes what is there, and only that', () => {
    expect(existing('file')('there', { cwd })).toBe(join(cwd, 'there'));
    expect(existing('file or folder')('.', { cwd })).toBe(cwd);
    expect(existing('folder')('.', { cwd })).toBe(cwd);
    expect(() => existing('file')('.', { cwd })).toThrow(/folder/);
    expect(() => existing('folder')('there', { cwd })).toThrow(/folder/);
    expect(() => existing('file')('missing', { cwd })).toThrow('there is no such file');
    expect(() => existing('file')('there/below', { cwd })).toThrow(ValueError);
  });
});

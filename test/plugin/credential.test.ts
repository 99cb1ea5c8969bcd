import { execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { go, goEnvironment } from '../../scripts/programs.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { describeWith } from '../describe-with.ts';
import { type CliResult, runCommand } from '../e2e/support/run-command.ts';
import { buildPlugin, SOURCES, VERSION } from './build-plugin.ts';

const LIFETIME_MS = 3_600_000;
/** A token is replaced after four fifths of its lifetime. */
const MARGIN_MS = LIFETIME_MS / 5;
const TOKEN = 'caller-0123456789';
const ISSUED = 'header.payload.signature';
const NOWHERE = 'http://127.0.0.1:1';

interface Case {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The response of the server for this cluster; see `answer`. */
  readonly cluster?: string;
}

const info = (spec: unknown, version: unknown = 'client.authentication.k8s.io/v1'): Record<string, string> => ({
  KUBERNETES_EXEC_INFO: JSON.stringify({ kind: 'ExecCredential', apiVersion: version, spec }),
});
const profile = (config: unknown, server: unknown = 'https://own.example.com:6443') => ({
  cluster: { server, config },
});

const status = (code: number, reason: string, message: string) => ({
  code,
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code }),
});

interface Answer {
  readonly code: number;
  readonly body?: string;
  readonly headers?: Record<string, string | string[]>;
}

/** Date and expiry are whole seconds, so that the lifetime is the same in every answer. */
function issued(): Answer {
  const second = Math.floor(Date.now() / 1000) * 1000;
  const expirationTimestamp = new Date(second + LIFETIME_MS).toISOString();
  const body = JSON.stringify({ kind: 'TokenRequest', status: { token: ISSUED, expirationTimestamp } });
  return { code: 201, headers: { Date: new Date(second).toUTCString() }, body };
}

/** By the name of the cluster. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  'not-found': status(404, 'NotFound', 'clusters.clusterregistry.k8s.io "not-found" not found'),
  forbidden: status(403, 'Forbidden', 'serviceaccounts "builder" is forbidden: \u001b[31m"é" \u2028 may not'),
  unauthorized: status(401, 'Unauthorized', 'Unauthorized'),
  invalid: status(422, 'Invalid', 'for-server: must be an address of the cluster'),
  fields: status(
    422,
    'Invalid',
    'spec.expirationSeconds: a, spec.audiences[1]: b, spec.audiences, spec.audiences. my.spec.audiences ' +
      'spec.audiencesX spec.audiences[0].x spec.expirationSeconds.y.z spec.audiences[0][1] spec.audiences[ ' +
      'spec.audiencesspec.audiences xspec.expirationSeconds spec.audiences..é éspec.audiences',
  ),
  'no-reason': { code: 500, body: '{"kind":"Status"}' },
  'reason-only': { code: 409, body: '{"kind":"Status","reason":"Conflict"}' },
  'error-page': { code: 502, body: `<html>\n\tBad Gateway é${'x'.repeat(300)}` },
  'empty-error': { code: 503 },
  retried: { code: 429, headers: { 'Retry-After': '0' }, body: '{"kind":"Status","message":"too many"}' },
  redirected: { code: 307, headers: { Location: '/elsewhere' } },
  moved: { code: 301, headers: { Location: 'https://new.example:8443/x?y' } },
  'moved-nowhere': { code: 302, headers: { Location: 'https://[' } },
  'not-modified': { code: 304 },
  'not-json': { code: 201, body: 'token' },
  'no-token': { code: 201, body: '{"status":{}}' },
  'no-object': { code: 201, body: 'null' },
  'a-number': { code: 201, body: '{"status":{"token":5,"expirationTimestamp":"2026-01-01T00:00:00Z"}}' },
  'no-time': { code: 201, body: '{"status":{"token":"a","expirationTimestamp":"soon"}}' },
  lines: status(403, 'Forbidden', 'one\ntwo\u0007'),
  large: { code: 201, body: 'x'.repeat(1024 * 1024 + 1) },
  warned: { code: 403, headers: { Warning: ['299 - "a \\"b\\""', '299 - "c, d"'] }, body: '{"kind":"Status"}' },
};

const VALID: readonly (readonly [name: string, given: Case])[] = [
  ['flags only', { args: ['--cluster', 'own', '--as', 'ci/builder'] }],
  ['v1 with a profile', { env: info(profile({ clusterName: 'own' })) }],
  ['v1beta1', { env: info(profile({ clusterName: 'own' }), 'client.authentication.k8s.io/v1beta1') }],
  [
    'CP-97: only the name of the cluster is taken from a profile',
    { env: info(profile({ clusterName: 'own', server: 'https://attacker', as: 'kube-system/admin', audience: 'x' })) },
  ],
  ['--cluster before a profile', { args: ['--cluster', 'other'], env: info(profile({ clusterName: 'own' })) }],
  [
    'an address with every kind of character',
    { env: info(profile({ clusterName: 'own' }, '<&>"\\\u2028é😀\u0001\n')) },
  ],
  [
    'numbers out of range',
    { env: { KUBERNETES_EXEC_INFO: '{"apiVersion":"client.authentication.k8s.io/v1","x":1e999}' }, cluster: 'own' },
  ],
  ['short flags', { args: ['--cluster=own', '-nteam', '--service-account', 'x'] }],
  ['-n=', { args: ['--cluster=own', '-n=team', '--service-account=x'] }],
  ['audiences', { args: ['--cluster', 'own', '--audience', 'a', '--audience=b'], env: { CLUSTERPASS_AUDIENCE: 'c' } }],
  ['the audience in a variable', { cluster: 'own', env: { CLUSTERPASS_AUDIENCE: 'c' } }],
  ...['20m', '1h30m', '1.5h', '1.h', '.5h', '+5m', '1500ms', '0', '0s', '90.001s'].map(
    (duration) => [`--duration ${duration}`, { cluster: 'own', args: ['--duration', duration] }] as const,
  ),
  ['the duration in a variable', { cluster: 'own', env: { CLUSTERPASS_DURATION: '20m' } }],
  ['a product name', { cluster: 'own', args: ['--product-name', 'fleet'] }],
  [
    'a server on this machine is reached without a proxy',
    { cluster: 'own', env: { HTTP_PROXY: NOWHERE, http_proxy: NOWHERE, HTTPS_PROXY: NOWHERE, ALL_PROXY: NOWHERE } },
  ],
  ['--no-cache', { cluster: 'own', args: ['--no-cache', '--as-me=false'] }],
  ['--as-me', { cluster: 'own', args: ['--as-me', '--duration', '10m'] }],
  ['--as-me --group', { cluster: 'own', args: ['--as-me', '--group', 'devs'] }],
  ['--as-me with a profile', { args: ['--as-me'], env: info(profile({ clusterName: 'own' })) }],
  ['--pass', { args: ['--pass', `pass_${'a'.repeat(32)}`], env: { CLUSTERPASS_AUDIENCE: 'c' } }],
  ['--pass with a profile', { args: ['--pass=pass_a'], env: info(profile({ clusterName: 'own' })) }],
];

/** The exit code is 1. */
const FAILED: readonly (readonly [name: string, given: Case])[] = [
  ...Object.keys(ANSWERS)
    .filter((cluster) => cluster !== 'large')
    .map((cluster) => [`answer: ${cluster}`, { cluster }] as const),
  ['fields of flags', { cluster: 'fields', args: ['--duration', '1m', '--audience', 'a'] }],
  ['fields of variables', { cluster: 'fields', env: { CLUSTERPASS_DURATION: '1m', CLUSTERPASS_AUDIENCE: 'a' } }],
  [
    'fields of flags before variables',
    { cluster: 'fields', args: ['--duration', '1m'], env: { CLUSTERPASS_DURATION: '2m' } },
  ],
  ['an unreachable server', { cluster: 'own', env: { CLUSTERPASS_SERVER: 'http://127.0.0.1:1/path/' } }],
  ['an unknown host', { cluster: 'own', env: { CLUSTERPASS_SERVER: 'https://host.invalid' } }],
  ...['missing', '.', 'empty', 'two-lines', 'token/x'].map(
    (file) => [`token file ${file}`, { cluster: 'own', args: ['--token-file', file] }] as const,
  ),
  ...['missing', '.', 'token', 'bad-ca'].map(
    (file) =>
      [
        `CA ${file}`,
        { cluster: 'own', env: { CLUSTERPASS_SERVER: 'https://127.0.0.1:1', CLUSTERPASS_CA: file } },
      ] as const,
  ),
];

/** The exit code is 2. */
const MISUSED: readonly (readonly [name: string, given: Case])[] = [
  ...[
    '{',
    '{} {}',
    '[]',
    '"x"',
    'null',
    '\ufeff{}',
    '{"apiVersion":1}',
    '{"apiVersion":"v2\\n<é>"}',
    '{"APIVERSION":"client.authentication.k8s.io/v1"}',
  ].map((text) => [`exec info ${text}`, { env: { KUBERNETES_EXEC_INFO: text } }] as const),
  ['no spec', { env: info(undefined) }],
  ['spec is a list', { env: info([]) }],
  ...[null, 1, '', 'A', '../x', 'a..b', '-a', 'a'.repeat(254)].map(
    (name) =>
      [`clusterName ${JSON.stringify(name)?.slice(0, 20)}`, { env: info(profile({ clusterName: name })) }] as const,
  ),
  ...[null, '', 5].map(
    (server) => [`server ${server}`, { env: info(profile({ clusterName: 'own' }, server)) }] as const,
  ),
  ...['.', '..', 'a/b', 'A', 'x'.repeat(5000)].map(
    (name) => [`--cluster ${name.slice(0, 9)}`, { args: ['--cluster', name] }] as const,
  ),
  ...['', 'x', 'a/b/c', 'A/b', '/b', 'a/', `${'a'.repeat(64)}/b`, 'é/"'].map(
    (as) => [`--as ${as.slice(0, 9)}`, { cluster: 'own', args: ['--as', as] }] as const,
  ),
  ['CLUSTERPASS_AS', { cluster: 'own', env: { CLUSTERPASS_AS: 'x' } }],
  ...['', '.', '..', 'a/b', 'A', 'a'.repeat(254)].map(
    (pass) => [`--pass ${pass.slice(0, 9)}`, { args: ['--pass', pass] }] as const,
  ),
  ...[['--as', 'a/b'], ['-n', 'a'], ['--duration', '1m'], ['--audience', 'a'], ['--as-me'], ['--group', 'a']].map(
    (args) => [`--pass with ${args.join(' ')}`, { args: ['--pass', 'pass_a', ...args] }] as const,
  ),
  ['--as and --as-me', { cluster: 'own', args: ['--as-me', '--as', 'a/b'] }],
  ['--as-me and an audience', { cluster: 'own', args: ['--as-me'], env: { CLUSTERPASS_AUDIENCE: 'a' } }],
  ['--group without --as-me', { cluster: 'own', args: ['--as', 'a/b', '--group', 'devs'] }],
  ['--as-me=maybe', { cluster: 'own', args: ['--as-me=maybe'] }],
  ['--cluste', { args: ['--cluste', 'x'] }],
  ['no account', { cluster: 'own', env: { CLUSTERPASS_AS: '' } }],
  ['no name', { cluster: 'own', args: ['-n', 'team'] }],
  ['a wrong name', { cluster: 'own', args: ['-n', 'team', '--service-account', 'X'] }],
  ...['', 'x', '0m', '-1m', '1', '1us', '1m ', '0.0001s', '9'.repeat(41), `${'9'.repeat(30)}h`].map(
    (text) => [`--duration ${text}`, { cluster: 'own', args: [`--duration=${text}`] }] as const,
  ),
  ['CLUSTERPASS_DURATION', { cluster: 'own', env: { CLUSTERPASS_DURATION: 'x' } }],
  ['no server', { cluster: 'own', env: { CLUSTERPASS_SERVER: '' } }],
  ...[
    '',
    'ftp://x',
    'https://',
    'https://a b',
    'https://u:p@x',
    'https://x?q',
    'https://x#f',
    'http://example.com',
    'http://Example.com:80/a/',
    'https://x:99999',
    'http://127.0.0.1.example.com',
    'http://[::2]:8080',
  ].map((server) => [`--server ${server}`, { cluster: 'own', args: ['--server', server] }] as const),
  ...[
    ['--nonsense'],
    ['--nonsense=x'],
    ['-x'],
    ['--cluster'],
    ['-n'],
    ['--nonsense', '--as'],
    ['x'],
    ['x', 'y'],
    ['-'],
    ['--', 'x'],
  ].map((args) => [`arguments ${args.join(' ')}`, { args }] as const),
];

/** Differences of the plugin in Go, with the reason. */
const DIFFERENT: readonly (readonly [why: string, given: Case, text: string])[] = [
  ['there is no login', { cluster: 'own', args: ['--login'] }, 'error: --login is not supported by this plugin\n'],
  [
    'a login is no advice',
    { cluster: 'own', env: { CLUSTERPASS_TOKEN_FILE: '' } },
    'error: no token: set --token-file or CLUSTERPASS_TOKEN_FILE\n',
  ],
  [
    'a login is no advice, also if the token is for the server in CLUSTERPASS_SERVER',
    { cluster: 'own', args: ['--server', 'https://127.0.0.1:1'] },
    'error: no token: set --token-file or CLUSTERPASS_TOKEN_FILE\n',
  ],
  [
    'others can read the arguments of a process',
    { cluster: 'own', args: ['--token', TOKEN] },
    'error: --token is not supported by this plugin\n',
  ],
  [
    'a token in a variable cannot be replaced',
    { cluster: 'own', env: { CLUSTERPASS_TOKEN: TOKEN } },
    'error: CLUSTERPASS_TOKEN is not supported',
  ],
  [
    'stdin belongs to the controller',
    { cluster: 'own', args: ['--token-file', '-'] },
    'error: --token-file: stdin is not supported',
  ],
  [
    'addresses are not repaired',
    { cluster: 'own', args: ['--server', 'http://127.1:1'] },
    'error: --server: "http://127.1:1" is not a URL',
  ],
];

describeWith(go, 'the plugin in Go does what the one in TypeScript does', () => {
  let program: string;
  let folder: string;
  let seen: unknown[] = [];
  const servers: Record<string, Server> = {};
  const urls: Record<string, string> = {};
  const authority = createAuthority('the CA');

  const answer: RequestListener = (request, response) => {
    void record(request).then(() => {
      const cluster = request.url?.split('/')[2] ?? '';
      const { code, body, headers = {} } = ANSWERS[cluster] ?? issued();
      response.writeHead(code, headers).end(body);
    });
  };

  async function record(request: IncomingMessage): Promise<void> {
    const { method, url, headers } = request;
    const { host: _, connection: __, 'content-length': length, ...rest } = headers;
    seen.push({
      method,
      url,
      length,
      headers: { ...rest, 'accept-encoding': headers['accept-encoding'] },
      body: await textOf(request),
    });
  }

  async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  beforeAll(async () => {
    program = buildPlugin();
    folder = mkdtempSync(join(tmpdir(), 'clusterpass-plugin-'));
    const good = authority.issue({ names: ['127.0.0.1'] });
    const files = {
      token: `\ufeff ${TOKEN}\n`,
      empty: '\n',
      'two-lines': 'a\nb',
      'bad-ca': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      'mixed-ca': `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${authority.cert}`,
      'ca.pem': authority.cert,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    servers.plain = createServer(answer);
    servers.tls = createTlsServer(good, answer);
    servers.expired = createTlsServer(authority.issue({ names: ['127.0.0.1'], notAfter: Date.now() - 1000 }), answer);
    servers.named = createTlsServer(authority.issue({ names: ['clusterpass.test'] }), answer);
    servers.closing = createServer((request) => request.socket.destroy());
    for (const [name, server] of Object.entries(servers)) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const scheme = ['plain', 'closing'].includes(name) ? 'http' : 'https';
      urls[name] = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    }
  }, 600_000);
  afterAll(() => {
    for (const server of Object.values(servers)) server.close();
  });

  const started = Date.now();

  async function run(program: (args: string[], env: Record<string, string>) => Promise<CliResult>, given: Case) {
    const { args = [], env = {}, cluster } = given;
    seen = [];
    const { code, stdout, stderr } = await program(
      [...(cluster === undefined ? [] : ['--cluster', cluster]), ...args],
      {
        HOME: folder,
        CLUSTERPASS_SERVER: urls.plain ?? '',
        CLUSTERPASS_TOKEN_FILE: 'token',
        CLUSTERPASS_AS: 'ci/builder',
        ...env,
      },
    );
    const found = /"expirationTimestamp":"([^"]+)"/.exec(stdout)?.[1];
    if (found !== undefined) {
      // It depends on the time of the run, and is a whole second. A cached token is from an earlier row.
      const at = Date.parse(found);
      expect(at).toBeGreaterThan(started + LIFETIME_MS - MARGIN_MS - 1_000);
      expect(at).toBeLessThanOrEqual(Date.now() + LIFETIME_MS - MARGIN_MS);
    }
    return { code, stderr, stdout: stdout.replace(found ?? '""', 'TIME'), seen };
  }

  // In this process: a start of Node for every row would take most of the time.
  const inTypeScript = (given: Case) =>
    run((args, env) => runCommand(['credential', ...args], { env, cwd: folder, stdin: '' }), given);
  const inGo = (given: Case) =>
    run(async (args, env) => {
      const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env });
      const closed = once(child, 'close') as Promise<[number]>;
      const [stdout, stderr, [code]] = await Promise.all([textOf(child.stdout), textOf(child.stderr), closed]);
      return { code, stdout, stderr };
    }, given);

  it.each(VALID)('%s', async (_, given) => {
    const expected = await inTypeScript(given);
    expect([expected.code, expected.stderr, expected.seen.length]).toEqual([0, '', 1]);
    expect(await inGo(given)).toEqual(expected);
  });

  const refused = [...FAILED.map((row) => [1, ...row] as const), ...MISUSED.map((row) => [2, ...row] as const)];
  it.each(refused)('exit code %d: %s', async (code, _, given) => {
    const expected = await inTypeScript(given);
    expect([expected.code, expected.stdout]).toEqual([code, '']);
    // One sentence for the user, and no stack trace.
    expect(expected.stderr).not.toContain('\n    at ');
    expect(await inGo(given)).toEqual(expected);
  });

  const KEY = 'k'.repeat(43);
  it.each<[what: string, code: number, place: (file: string) => void]>([
    ['the key of this machine', 0, (file) => writeFileSync(file, `${KEY}\n`, { mode: 0o600 })],
    ['a key that others can read', 1, (file) => writeFileSync(file, KEY, { mode: 0o644 })],
    ['a key that is too short', 1, (file) => writeFileSync(file, 'k', { mode: 0o600 })],
    ['an empty file', 1, (file) => writeFileSync(file, '', { mode: 0o600 })],
    ['a folder', 1, (file) => mkdirSync(file)],
    ['a link', 1, (file) => symlinkSync(join(folder, 'token'), file)],
  ])('A48: a pass is redeemed with %s: exit code %d', async (what, code, place) => {
    const configuration = join(folder, what.replaceAll(' ', '-'));
    mkdirSync(join(configuration, 'clusterpass'), { recursive: true });
    place(join(configuration, 'clusterpass/machine.key'));
    const given = {
      args: ['--pass', 'pass_a'],
      env: { ...info(profile({ clusterName: 'own' })), XDG_CONFIG_HOME: configuration },
    };
    const expected = await inTypeScript(given);
    expect([expected.code, expected.seen.length]).toEqual([code, code === 0 ? 1 : 0]);
    if (code === 0) {
      const verifier = createHmac('sha256', KEY)
        .update(urls.plain ?? '')
        .digest('base64url');
      expect(JSON.stringify(expected.seen)).toContain(verifier);
    }
    expect(await inGo(given)).toEqual(expected);
  });

  it.each([
    ['tls', 'ca.pem', 0],
    ['tls', undefined, 1],
    ['tls', 'bad-ca', 1],
    ['tls', 'mixed-ca', 1],
    ['expired', 'ca.pem', 1],
    ['named', 'ca.pem', 1],
    ['closing', undefined, 1],
  ])('the server %s with the CA %s', async (name, ca, code) => {
    const args = ca === undefined ? [] : ['--certificate-authority', ca];
    const given = { cluster: 'own', args, env: { CLUSTERPASS_SERVER: urls[name] ?? '' } };
    const expected = await inTypeScript(given);
    expect(expected.code).toBe(code);
    expect(await inGo(given)).toEqual(expected);
  });

  it('CP-96: both use the proxy of HTTPS_PROXY, and not for the hosts of NO_PROXY', async () => {
    const reached: string[] = [];
    const proxy = createServer().on('connect', (request: IncomingMessage, socket: Socket) => {
      reached.push(request.url ?? '');
      const isServed = request.url === 'clusterpass.test:443';
      socket.write(`HTTP/1.1 ${isServed ? '200 OK' : '403 Forbidden'}\r\n\r\n`);
      if (!isServed) return socket.end();
      const server = connect(Number(new URL(urls.named ?? '').port), '127.0.0.1');
      for (const end of [socket, server]) end.on('error', () => undefined);
      return socket.pipe(server).pipe(socket);
    });
    servers.proxy = proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    for (const [host, NO_PROXY, code, HTTPS_PROXY] of [
      ['clusterpass.test', '', 0, `http://${address}`],
      ['clusterpass.test', '', 0, address],
      ['clusterpass.test', 'clusterpass.test', 1, address],
      ['other.test', '', 1, address],
      ['clusterpass.test', '', 1, `https://${address}`],
      ['clusterpass.test', '', 1, 'http://127.0.0.1:1'],
      ['clusterpass.test', '', 1, `ftp://${address}`],
      ['clusterpass.test', '', 1, 'http://['],
      ['clusterpass.test', 'other.test,clusterpass.test', 1, 'http://['],
      ...[
        ...[
          'http:///proxy',
          'http:/127.0.0.1:1',
          '127.0.0.1:',
          ':1',
          '127.0.0.1:65536',
          'http://user:p%zz@127.0.0.1:1',
        ],
        ...['user:p^@127.0.0.1:1', '127.1:1', '0x7f.0.0.1:1', '127.0.0.1.:1', 'http://127.0.0.1:1\\x', ' 127.0.0.1:1'],
        ...['[::1', '[::1]:1', 'HTTP://127.0.0.1:1', 'user:p@ss@127.0.0.1:1', 'http://127.0.0.1:1/?x'],
      ].map((text) => ['clusterpass.test', '', 1, text] as const),
    ] as const) {
      const args = ['--server', `https://${host}`, '--certificate-authority', 'ca.pem'];
      const given = { cluster: 'own', args, env: { HTTPS_PROXY, NO_PROXY, CLUSTERPASS_SERVER: '' } };
      const expected = await inTypeScript(given);
      expect([expected.code, expected.seen.length]).toEqual([code, code === 0 ? 1 : 0]);
      expect(await inGo(given)).toEqual(expected);
    }
    expect(reached).toEqual(
      ['clusterpass', 'clusterpass', 'clusterpass', 'clusterpass', 'other', 'other'].map((name) => `${name}.test:443`),
    );
  });

  it.each([
    ['https for http', 'plain', 'http:', 'https:'],
    ['http for https', 'tls', 'https:', 'http:'],
  ])('%s', async (_, name, from, to) => {
    const given = { cluster: 'own', env: { CLUSTERPASS_SERVER: urls[name]?.replace(from, to) ?? '' } };
    const expected = await inTypeScript(given);
    expect(expected.code).toBe(1);
    expect(await inGo(given)).toEqual(expected);
  });

  it.each(DIFFERENT)('differs: %s', async (_, given, text) => {
    const { code, stderr, stdout } = await inGo(given);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.slice(0, text.length)).toBe(text);
    expect((await inTypeScript(given)).stderr).not.toBe(stderr);
  });

  it('CP-95: installs itself', () => {
    execFileSync(program, ['install', folder]);
    const installed = join(folder, 'clusterpass-credential');
    expect(execFileSync(installed, ['--version'], { encoding: 'utf8' })).toBe(`${VERSION}\n`);
  });

  it('is static, smaller than 8 MB and formatted', () => {
    expect(statSync(program).size).toBeLessThan(8_000_000);
    const gofmt = join(goEnvironment().GOROOT, 'bin/gofmt');
    expect(execFileSync(gofmt, ['-l', '.'], { cwd: SOURCES, encoding: 'utf8' })).toBe('');
    // An ELF program that needs a loader names it.
    expect(readFileSync(program).includes('ld-linux')).toBe(false);
  });
});

import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import { Invocation } from '../command.ts';
import { changeLogins } from '../connection/logins.ts';
import { isForServer, readExecInfo, run } from './credential.ts';

interface Received {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: { readonly metadata?: { readonly annotations?: object }; readonly spec?: object };
}

const received: Received[] = [];
/** Issues tokens for an hour, by its own clock. */
const server = createServer(async (request, response) => {
  const body = JSON.parse(await text(request));
  received.push({ path: request.url ?? '', authorization: request.headers.authorization, body });
  const status = { token: `token-${received.length}`, expirationTimestamp: '2030-01-01T01:00:00Z' };
  response.writeHead(201, { 'Content-Type': 'application/json', Date: 'Tue, 01 Jan 2030 00:00:00 GMT' });
  response.end(JSON.stringify({ kind: 'TokenRequest', status }));
});
let home: string;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => server.close());
beforeEach(async () => {
  received.length = 0;
  home = await mkdtemp(join(tmpdir(), 'clusterpass-credential-'));
});

type Options = Readonly<Record<string, unknown>>;
type Env = Readonly<Record<string, string>>;

const GOOD: Options = { cluster: 'alpha', as: 'ci/builder', token: 'of-jane' };
const execInfo = (cluster?: object): string =>
  JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', spec: { cluster } });

/** What kubectl gets. */
async function credential(options: Options = {}, env: Env = {}) {
  const context = fakeContext({ HOME: home, ...env });
  await run(context, new Invocation([], { server: url, ...GOOD, ...options }));
  return JSON.parse(context.written.out) as { status: { token: string; expirationTimestamp: string } };
}
const tokenFor = async (options: Options = {}, env: Env = {}) => (await credential(options, env)).status.token;

describe('the credential plugin', () => {
  it('E-05: says when kubectl has to ask again, by the clock of this machine', async () => {
    expect(await credential()).toMatchObject({
      status: { token: 'token-1', expirationTimestamp: '2026-09-01T12:48:00Z' },
    });
  });

  it('A42: gives no credential to another login, for another cluster, account, audience or duration', async () => {
    const profile = (address: string): Env => ({
      KUBERNETES_EXEC_INFO: execInfo({ server: address, config: { clusterName: 'alpha' } }),
    });
    const requests: readonly [Options, Env?][] = [
      [{}],
      [{ token: 'of-bob' }],
      [{ cluster: 'beta' }],
      [{ as: 'ci/deployer' }],
      [{ as: 'other/builder' }],
      [{ as: undefined, asMe: true }],
      [{ audience: ['vault'] }],
      [{ audience: ['vault', 'other'] }],
      [{ duration: '10m' }],
      [{ cluster: undefined }, profile('https://10.0.0.1:6443')],
      [{ cluster: undefined }, profile('https://10.0.0.2:6443')],
    ];
    const tokens: string[] = [];
    for (const [options, env] of requests) tokens.push(await tokenFor(options, env));
    expect(tokens).toEqual(requests.map((_, index) => `token-${index + 1}`));
    // Each is in the cache.
    for (const [index, [options, env]] of requests.entries()) expect(await tokenFor(options, env)).toBe(tokens[index]);
    expect(received).toHaveLength(requests.length);
    expect(received.map(({ authorization }) => authorization).slice(0, 3)).toEqual([
      'Bearer of-jane',
      'Bearer of-bob',
      'Bearer of-jane',
    ]);
  });

  it('gives a new one with --no-cache, which is not cached, and removes the cached one', async () => {
    expect([await tokenFor(), await tokenFor({ cache: false }), await tokenFor()]).toEqual([
      'token-1',
      'token-2',
      'token-3',
    ]);
  });

  it('CP-97: has the server check the address that a profile names', async () => {
    const server = 'https://10.0.0.1:6443';
    await tokenFor(
      { cluster: undefined },
      { KUBERNETES_EXEC_INFO: execInfo({ server, config: { clusterName: 'beta' } }) },
    );
    // A flag is the configuration of the consumer itself.
    await tokenFor({}, { KUBERNETES_EXEC_INFO: execInfo({ server, config: { clusterName: 'beta' } }) });
    expect(received.map(({ path, body }) => [path, body.metadata?.annotations])).toEqual([
      [
        '/orchestrator/beta/api/v1/namespaces/ci/serviceaccounts/builder/token',
        { 'clusterpass.dev/for-server': server },
      ],
      ['/orchestrator/alpha/api/v1/namespaces/ci/serviceaccounts/builder/token', undefined],
    ]);
  });

  const HANDLE = { ...GOOD, as: undefined, cluster: undefined, pass: 'pass_abc' };
  it.each<[string, Options, string]>([
    ['a cluster that is a path', { cluster: '../alpha' }, '--cluster'],
    ['a cluster that is none', { cluster: 'not_a_name' }, 'is not the name of a cluster'],
    ['an audience of a person', { as: undefined, asMe: true, audience: ['x'] }, '--as-me takes no --audience'],
    ['a person for a pass', { ...HANDLE, asMe: true }, '--pass determines account, audience and duration'],
    ['an audience for a pass', { ...HANDLE, audience: ['x'] }, '--pass determines account, audience and duration'],
    ['a duration for a pass', { ...HANDLE, duration: '10m' }, '--pass determines account, audience and duration'],
    ['a handle that is a path', { ...HANDLE, pass: '../x' }, 'is not the handle of a pass'],
  ])('refuses %s, and sends nothing', async (_, options, message) => {
    await expect(credential(options)).rejects.toThrow(message);
    expect(received).toEqual([]);
  });

  it('gives kubectl the token of a login, and says when a session has to be refreshed', async () => {
    const session = { id: 'one', subject: 'jane', issuerUrl: 'https://id.example', clientId: 'c' };
    const times = { refreshAt: Date.parse('2026-09-01T12:05:00Z'), expiresAt: Date.parse('2026-09-01T12:06:00Z') };
    const login = { login: true, token: undefined };
    const store = (changes: object) =>
      changeLogins(fakeContext({ HOME: home }), () => ({ logins: { [url]: { token: 'of-the-login', ...changes } } }));
    await store({ session: { ...session, ...times } });
    expect((await credential(login)).status).toEqual({
      token: 'of-the-login',
      expirationTimestamp: '2026-09-01T12:05:00Z',
    });
    await store({});
    expect((await credential(login)).status).toEqual({ token: 'of-the-login' });
    expect(received).toEqual([]);
  });

  it('redeems a pass', async () => {
    expect(await tokenFor(HANDLE)).toBe('token-1');
    expect(received.map(({ path }) => path)).toEqual(['/apis/clusterpass.dev/v1alpha1/passes/pass_abc/token']);
  });
});

it.each([
  ['https://pass/orchestrator/alpha', ['https://pass/orchestrator/alpha'], true],
  ['https://pass/orchestrator/beta', ['https://pass/orchestrator/beta'], false],
  ['https://pass/orchestrator/alpha/people', ['https://pass/orchestrator/alpha/people'], false],
  ['https://pass/orchestrator/alpha', ['vault'], false],
  ['https://kubernetes.default.svc', ['https://kubernetes.default.svc'], false],
])('A42: a token of %s for %j is checked at the server: %s', (iss, aud, isServer) => {
  const claims = Buffer.from(JSON.stringify({ iss, aud })).toString('base64url');
  expect(isForServer(`x.${claims}.x`, '/orchestrator/alpha')).toBe(isServer);
  expect(isForServer('opaque', '/orchestrator/alpha')).toBe(false);
});

const V1 = 'client.authentication.k8s.io/v1';
const info = (spec: unknown, apiVersion: unknown = V1): string =>
  JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
const cluster = (config: unknown, server: unknown = 'https://prod:6443') => info({ cluster: { server, config } });

describe('KUBERNETES_EXEC_INFO', () => {
  it('CP-30: has version v1 or v1beta1, or is not set', () => {
    expect(readExecInfo(undefined)).toEqual({ apiVersion: V1, profile: undefined });
    expect(readExecInfo('')).toEqual({ apiVersion: V1, profile: undefined });
    expect(readExecInfo(info({}, `${V1}beta1`)).apiVersion).toBe(`${V1}beta1`);
    expect(() => readExecInfo('{')).toThrow('KUBERNETES_EXEC_INFO is not JSON');
    for (const text of ['null', '[]', '"x"', info({}, 1), info({}, null)]) {
      expect(() => readExecInfo(text)).toThrow('KUBERNETES_EXEC_INFO requests no version; supported are');
    }
    expect(() => readExecInfo(info({}, `${V1}alpha1`))).toThrow(`requests "${V1}alpha1"; supported are`);
  });

  it('CP-31, CP-97: gives the name of the cluster and the address, and nothing else of a profile', () => {
    const config = { clusterName: 'prod.eu', server: 'https://attacker', as: 'kube-system/admin', args: ['--x'] };
    const profile = { cluster: 'prod.eu', server: 'https://prod:6443' };
    expect(readExecInfo(cluster(config))).toEqual({ apiVersion: V1, profile });
    for (const text of [
      info(undefined),
      info({}),
      info({ cluster: null }),
      cluster(undefined),
      cluster(null),
      cluster([]),
    ]) {
      expect(readExecInfo(text).profile).toBeUndefined();
    }
  });

  it.each(['', '../x', 'A', 'a/b', '-', 'a'.repeat(254), 1, null, ['a']])('CP-97: %j is no name', (clusterName) => {
    expect(() => readExecInfo(cluster({ clusterName }))).toThrow('clusterName is not the name of a cluster');
  });

  it.each(['', 1])('a profile without an address is refused: %j', (server) => {
    expect(() => readExecInfo(cluster({ clusterName: 'a' }, server))).toThrow('spec.cluster.server is missing');
  });
});

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkAtCluster, checkAtServer } from '../../src/cli/connection/check-token.ts';
import { Person } from './support/cli.ts';

/** The proxy refuses all tunnels: the tests check who requests one. No host name of the tests exists. */
const asked = new Set<string>();
const proxy: Server = createServer().on('connect', (request, socket) => {
  asked.add(request.url ?? '');
  socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
});
let person: Person;
let env: Record<string, string>;

beforeAll(async () => {
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  env = { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  person = await Person.at();
  const kubeconfig = {
    clusters: [{ name: 'hub', cluster: { server: 'https://hub.test:6443' } }],
    users: [{ name: 'me', user: { token: 'x' } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'me' } }],
    'current-context': 'hub',
  };
  await writeFile(join(person.home, 'hub.yaml'), JSON.stringify(kubeconfig));
  await writeFile(join(person.home, 'token'), 'x');
});
afterAll(async () => {
  proxy.close();
  await person.leave();
});

const SERVER = ['--server', 'https://pass.test', '--token-file', 'token'];

const COMMANDS: readonly (readonly [args: readonly string[], host: string])[] = [
  [['whoami', ...SERVER], 'pass.test:443'],
  [['version', ...SERVER], 'pass.test:443'],
  [['credential', '--cluster', 'a', '--as', 'b/c', ...SERVER], 'pass.test:443'],
  [['login', '--server', 'https://pass.test', '--issuer-url', 'https://idp.test', '--client-id', 'c'], 'idp.test:443'],
  [['register', 'a', '--kubeconfig', 'hub.yaml', ...SERVER], 'hub.test:6443'],
  [['sync', 'export', '--once', '--namespace', 'a', '--kubeconfig', 'hub.yaml', ...SERVER], 'hub.test:6443'],
  [['sync', 'import', '--from', 'capi', '-A', '--once', '--kubeconfig', 'hub.yaml', ...SERVER], 'hub.test:6443'],
];

it.each(COMMANDS)('%j goes through the proxy of HTTPS_PROXY', async (args, host) => {
  asked.clear();
  expect(await person.run(args, { env })).toMatchObject({ code: 1 });
  expect([...asked]).toContain(host);
});

it.each(COMMANDS)('%j does not for the hosts of NO_PROXY', async (args) => {
  asked.clear();
  expect(await person.run(args, { env: { ...env, NO_PROXY: '.test' } })).toMatchObject({ code: 1 });
  expect([...asked]).toEqual([]);
});

it('checks of cached tokens go through the proxy', async () => {
  asked.clear();
  const options = { env, signal: new AbortController().signal };
  const connection = { server: 'https://pass.test', productName: 'x', certificateAuthority: undefined };
  expect(await checkAtServer({ ...connection, insecureSkipTlsVerify: false }, 'a', 'token', options)).toBe('unknown');
  const info = JSON.stringify({ spec: { cluster: { server: 'https://cluster.test' } } });
  expect(await checkAtCluster(info, 'token', options)).toBe('unknown');
  expect([...asked]).toEqual(['pass.test:443', 'cluster.test:443']);
});

it('a proxy that does not answer ends a command after ten seconds', async () => {
  const stuck = createTcpServer((socket) => socket.on('error', () => undefined).resume()).listen(0, '127.0.0.1');
  await once(stuck, 'listening');
  const HTTPS_PROXY = `http://127.0.0.1:${(stuck.address() as AddressInfo).port}`;
  const commands = [['whoami'], ['credential', '--cluster', 'a', '--as', 'b/c']];
  const started = performance.now();
  const results = commands.map((command) => person.run([...command, ...SERVER], { env: { HTTPS_PROXY } }));
  for (const { code, stderr } of await Promise.all(results)) {
    expect([code, stderr]).toEqual([1, expect.stringMatching(/cannot be reached.*: timed out\n$/)]);
  }
  expect(performance.now() - started).toBeLessThan(25_000);
  stuck.close();
}, 60_000);

it.each([
  ['an address of http', (port: number) => `127.0.0.1:${port}`, /through the proxy 127\.0\.0\.1:\d+ of HTTPS_PROXY: /],
  ['https for a plain proxy', (port: number) => `https://localhost:${port}`, /of HTTPS_PROXY: the answer is not TLS\n/],
  ['https by address', (port: number) => `https://127.0.0.1:${port}`, /of HTTPS_PROXY: the answer is not TLS\n/],
  ['a proxy that is down', () => 'http://127.0.0.1:1', /through the proxy 127\.0\.0\.1:1 of HTTPS_PROXY: .*refused/i],
  [
    'SOCKS',
    () => 'socks5://127.0.0.1:1',
    /pass\.test cannot be reached: HTTPS_PROXY must be the http or https address/,
  ],
])('HTTPS_PROXY: %s', async (_, address, text) => {
  const HTTPS_PROXY = address((proxy.address() as AddressInfo).port);
  for (const command of [['whoami'], ['credential', '--cluster', 'a', '--as', 'b/c']]) {
    expect(await person.fails([...command, ...SERVER], { env: { HTTPS_PROXY } })).toMatch(text);
  }
});

it('this machine is reached without a proxy', async () => {
  asked.clear();
  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    for (const command of [['whoami'], ['credential', '--cluster', 'a', '--as', 'b/c']]) {
      await person.fails([...command, '--server', `https://${host}:1`, '--token-file', 'token'], { env });
    }
  }
  expect([...asked]).toEqual([]);
});

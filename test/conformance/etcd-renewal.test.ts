import { X509Certificate } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority, type Pair } from '../../src/clusters/upstream/certificates.fixture.ts';
import type { StoreOptions } from '../../src/config/store-options.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { type OpenedStore, openStore } from '../../src/server/open-store.ts';
import type { Store } from '../../src/storage/contract.ts';
import { openEtcdStore } from '../../src/storage/etcd/open-etcd-store.ts';
import { describeWithEtcd, type Etcd, startEtcd } from './etcd-process.ts';
import { create, failure, update } from './harness.ts';

/** Credentials that change while a store is open, and versions that are refused. */

const RENEW_EVERY_MS = 20;

describeWithEtcd('credentials for etcd that are renewed while the store is open', () => {
  let dir: string;
  const servers: Etcd[] = [];
  const stores: OpenedStore[] = [];
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', write: (line) => lines.push(line) });
  const file = (name: string): string => join(dir, name);
  const put = (name: string, text: string): Promise<void> => writeFile(file(name), text, { mode: 0o600 });
  const reports = (text: string): number => lines.filter((line) => line.includes(text)).length;
  const open = async (etcd: Etcd, access: Pick<Extract<StoreOptions, { engine: 'etcd' }>, 'tls' | 'user'>) => {
    const options = { engine: 'etcd' as const, endpoints: etcd.endpoints, prefix: '/fleet', ...access };
    const opened = await openStore(options, logger, { renewEveryMs: RENEW_EVERY_MS });
    stores.push(opened);
    return opened.store;
  };
  /** Retries until it works: the restart of etcd takes a while. */
  const eventually = async (store: Store, key: string): Promise<void> => {
    await expect.poll(() => create(store, key, 'x').catch(() => 0), { timeout: 60_000, interval: 50 }).not.toBe(0);
  };
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'clusterpass-renewal-'));
  });
  afterAll(async () => {
    await Promise.all(stores.map(({ store }) => store.close()));
    await Promise.all(servers.map((server) => server.destroy()));
  });

  it('certificate, key and CA: the old ones are used until the new ones match, and watches continue', async () => {
    const generations = ['old', 'new'].map((name) => {
      const authority = createAuthority(name);
      const notAfter = Date.now() + (name === 'old' ? 1 : 2) * 86_400_000;
      const issue = (commonName: string): Pair => authority.issue({ commonName, names: ['127.0.0.1'], notAfter });
      const expired = authority.issue({ commonName: 'clusterpass', notAfter: Date.now() - 86_400_000 });
      return { ca: authority.cert, server: issue('etcd'), client: issue('clusterpass'), expired };
    });
    const [before, after] = generations;
    if (before === undefined || after === undefined) throw new Error('there are two');
    const installServer = async ({ ca, server }: typeof before, clients = ca): Promise<void> => {
      await put('clients.crt', clients);
      await put('server.crt', server.cert);
      await put('server.key', server.key);
    };
    await installServer(before);
    const etcd = await startEtcd({
      scheme: 'https',
      args: [
        ...['--cert-file', file('server.crt'), '--key-file', file('server.key')],
        ...['--client-cert-auth', '--trusted-ca-file', file('clients.crt')],
      ],
    });
    servers.push(etcd);
    await put('ca.crt', before.ca);
    await put('client.crt', before.client.cert);
    await put('client.key', before.client.key);
    const tls = { caFile: file('ca.crt'), certFile: file('client.crt'), keyFile: file('client.key') };
    const store = await open(etcd, { tls, user: undefined });
    const expiry = () => stores.at(-1)?.certificateExpiry?.();
    const expiryOf = ({ cert }: Pair): number => new X509Certificate(cert).validToDate.getTime();
    expect(expiry()).toBe(expiryOf(before.client));
    await put('client.crt', before.expired.cert);
    await put('client.key', before.expired.key);
    await expect.poll(() => reports('client.crt has expired'), { interval: 10 }).toBe(1);
    expect(expiry()).toBe(expiryOf(before.client));
    await put('client.crt', before.client.cert);
    await put('client.key', before.client.key);
    const made = await create(store, '/a/x', 'one');
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { changes } of store.watch('/a/', made - 1, stop.signal))
        seen.push(...changes.map(({ key }) => key));
    })();

    // B30: others may reach etcd, and revoke. Each side in turn refuses the old certificate of the other.
    for (const [server, clients, text] of [
      [before, after.ca, 'it does not accept the client certificate of --etcd-certfile'],
      [after, before.ca, 'this server refuses its certificate: '],
    ] as const) {
      await installServer(server, clients);
      await etcd.members[0]?.kill();
      await etcd.members[0]?.restart();
      const refused = { code: 'refused', message: expect.stringContaining(text) };
      // Unavailable while etcd starts.
      const outcome = { timeout: 60_000, interval: 50 };
      const errorOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);
      await expect.poll(() => errorOf(store.revision()), outcome).toMatchObject(refused);
      await expect.poll(() => errorOf(update(store, '/a/x', made, 'two')), outcome).toMatchObject(refused);
      const resumed = (line: string) => line.includes('the watch of etcd is resumed') && line.includes(text);
      await expect.poll(() => lines.some(resumed), outcome).toBe(true);
    }
    await installServer(after);
    await etcd.members[0]?.kill();
    await etcd.members[0]?.restart();

    const notRenewed = reports('were not renewed');
    await put('client.crt', after.client.cert);
    await expect.poll(() => reports('were not renewed'), { interval: 10 }).toBeGreaterThan(notRenewed);
    expect(reports('were renewed')).toBe(0);
    await put('ca.crt', after.ca);
    await put('client.key', after.client.key);
    await eventually(store, '/a/y');
    expect(expiry()).toBe(expiryOf(after.client));
    // Twice, if the files were read between the writes of this test.
    expect(reports('were renewed')).toBeGreaterThan(0);
    await expect.poll(() => seen).toEqual(['/a/x', '/a/y']);
    stop.abort();
    await watching;
    expect(lines.join('\n')).not.toMatch(/PRIVATE KEY/);
  });

  it('the password of a user', async () => {
    const etcd = await startEtcd();
    servers.push(etcd);
    const call = async (path: string, body: object, token?: string): Promise<{ token?: string }> => {
      const headers = token === undefined ? {} : { Authorization: token };
      const response = await fetch(`http://${etcd.endpoints[0]}${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect(response.status, path).toBe(200);
      return (await response.json()) as { token?: string };
    };
    await call('/v3/auth/user/add', { name: 'root', password: 'old-password' });
    await call('/v3/auth/role/add', { name: 'root' });
    await call('/v3/auth/user/grant', { user: 'root', role: 'root' });
    await call('/v3/auth/enable', {});
    await put('password', 'old-password\n');
    const store = await open(etcd, { tls: undefined, user: { name: 'root', passwordFile: file('password') } });
    const made = await create(store, '/a/x', 'one');
    const { token } = await call('/v3/auth/authenticate', { name: 'root', password: 'old-password' });
    await call('/v3/auth/user/changepw', { name: 'root', password: 'new-password' }, token);
    // etcd loses its tokens in a restart.
    await etcd.members[0]?.kill();
    await etcd.members[0]?.restart();
    // Unavailable while the connection is not restored.
    const refused = async (): Promise<unknown> => (await failure(update(store, '/a/x', made, 'two'))).code;
    await expect.poll(refused, { timeout: 60_000, interval: 50 }).toBe('refused');
    await put('password', 'new-password\n');
    await eventually(store, '/a/y');
    expect(lines.join('\n')).not.toMatch(/old-password|new-password/);
  });
});

describe('an etcd that is too old', () => {
  /** Answers only Maintenance/Status, whose second field is the version. */
  async function startImpostor(version: string): Promise<{ endpoint: string; stop: () => void }> {
    const server = new Server();
    const text = Buffer.from(version);
    const raw = {
      requestStream: false,
      responseStream: false,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    } as const;
    server.addService(
      { status: { path: '/etcdserverpb.Maintenance/Status', ...raw } },
      {
        status: (_call: unknown, done: (error: null, bytes: Buffer) => void) =>
          done(null, Buffer.from([0x12, text.length, ...text])),
      },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return { endpoint: `127.0.0.1:${port}`, stop: () => server.forceShutdown() };
  }

  it.each([
    ['2.3.8', true],
    ['3.4.24', true],
    ['3.5.7', true],
    ['3.5.0-rc.1', true],
    ['3.4.25', false],
    ['3.5.8', false],
    ['3.6.0-alpha.0', false],
    ['4.0.0', false],
  ])('%s is refused by its version: %s', async (version, isRefused) => {
    const { endpoint, stop } = await startImpostor(version);
    onTestFinished(() => stop());
    const error = await openEtcdStore({ endpoints: [endpoint], prefix: '/fleet', openWithinMs: 30_000 }).catch(
      (reason: Error) => reason,
    );
    // A new version gets further calls, which this server does not answer.
    expect(error).toMatchObject({ code: isRefused ? 'unreadable' : 'unavailable' });
    if (isRefused) expect(String(error)).toContain(`etcd ${version} can report progress that has not happened`);
  });
});

import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { Secret } from '../../src/observability/secret.ts';
import { readDateHeader } from '../../src/storage/etcd/member.ts';
import { TcpProxy } from '../chaos/tcp-proxy.ts';
import { describeWithEtcd, type Etcd, etcdCall, startEtcd } from './etcd-process.ts';
import { bytes, create, failure, text, update, watchUntil } from './harness.ts';
import { opener } from './open-etcd.ts';

/** Conditions of an etcd: restored, with users or certificates, without an answer, absent, with a member that hangs. */

/** They mostly wait, and each has its own etcd. */
const CONCURRENT = { concurrent: true };

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const tls = (name: string): string => fileURLToPath(new URL(`../e2e/support/tls/${name}`, import.meta.url));

describeWithEtcd(
  'an etcd that was restored from an older copy while it was in use',
  () => {
    const { open, closeAll } = opener();
    afterAll(closeAll);

    it('is another store: its revisions are other changes, and a watch would wait for future ones', async ({
      expect,
      onTestFinished,
    }) => {
      const folder = await mkdtemp(join(tmpdir(), 'clusterpass-restored-'));
      const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
      const etcd = await startEtcd({ args: ['--data-dir', data] });
      onTestFinished(() => etcd.destroy());
      const [member] = etcd.members;
      const { store, campaign } = await open({ endpoints: etcd.endpoints, prefix: '/restored', openWithinMs: 10_000 });
      const leadership = campaign();
      await create(store, '/a/old', 'old');
      await member?.kill();
      await cp(data, copy, { recursive: true });
      await member?.restart();
      await expect.poll(() => leadership.leads()).toBe(true);
      for (let i = 0; i < 10; i++) await create(store, `/a/${i}`, 'new');
      await member?.kill();
      await rm(data, { recursive: true });
      await cp(copy, data, { recursive: true });
      await member?.restart();
      await expect.poll(async () => (await failure(store.revision())).code).toBe('replaced');
      // For ever: later writes of others would bring the revision back to its old value.
      for (let i = 0; i < 30; i++) await etcdCall(etcd, '/v3/kv/put', { key: base64('/others/x'), value: base64('x') });
      expect(await failure(store.revision())).toMatchObject({ code: 'replaced' });
      const write = store.write({ key: '/a/y', value: bytes('y'), expect: { absent: true } });
      expect(await failure(write)).toMatchObject({ code: 'replaced' });
      await expect.poll(() => leadership.leads()).toBe(false);
      const next = await open({ endpoints: etcd.endpoints, prefix: '/restored', openWithinMs: 10_000 });
      const successor = next.campaign();
      await expect.poll(() => successor.leads()).toBe(true);
      await Promise.all([leadership.close(), successor.close()]);
    });
  },
  CONCURRENT,
);

describeWithEtcd(
  'authentication',
  () => {
    const { open, closeAll } = opener();
    const servers: Etcd[] = [];
    afterAll(async () => {
      await closeAll();
      await Promise.all(servers.map((server) => server.destroy()));
    });

    it('a user with a password, also when etcd no longer knows its token', async ({ expect }) => {
      const etcd = await startEtcd();
      servers.push(etcd);
      const role = {
        name: 'fleet',
        perm: { permType: 'READWRITE', key: base64('/fleet/'), range_end: base64('/fleet0') },
      };
      await etcdCall(etcd, '/v3/auth/user/add', { name: 'root', password: 'r' });
      await etcdCall(etcd, '/v3/auth/role/add', { name: 'root' });
      await etcdCall(etcd, '/v3/auth/user/grant', { user: 'root', role: 'root' });
      await etcdCall(etcd, '/v3/auth/user/add', { name: 'clusterpass', password: 'hunter2' });
      await etcdCall(etcd, '/v3/auth/role/add', { name: 'fleet' });
      await etcdCall(etcd, '/v3/auth/role/grant', role);
      await etcdCall(etcd, '/v3/auth/user/grant', { user: 'clusterpass', role: 'fleet' });
      await etcdCall(etcd, '/v3/auth/enable', {});
      const { endpoints } = etcd;
      const user = { name: 'clusterpass', password: new Secret('hunter2') };
      const { store } = await open({ endpoints, prefix: '/fleet', user, openWithinMs: 10_000 });
      const made = await create(store, '/a/x', 'one');
      // etcd keeps tokens in memory.
      await etcd.members[0]?.kill();
      await etcd.members[0]?.restart();
      await update(store, '/a/x', made, 'two');
      expect((await watchUntil(store, '/a/', made - 1, made)).map(({ key }) => key)).toEqual(['/a/x']);

      const wrong = { name: 'clusterpass', password: new Secret('hunter3') };
      for (const refused of [
        { endpoints, prefix: '/fleet', user: wrong },
        { endpoints, prefix: '/fleet' },
        { endpoints, prefix: '/elsewhere', user },
      ]) {
        const error = await open(refused).catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code: 'refused' });
        expect(String(error)).not.toMatch(/hunter/);
      }

      const root = (await etcdCall(etcd, '/v3/auth/authenticate', { name: 'root', password: 'r' })) as {
        token: string;
      };
      await etcdCall(etcd, '/v3/auth/user/revoke', { name: 'clusterpass', role: 'fleet' }, root.token);
      expect(await failure(store.revision())).toMatchObject({ code: 'refused' });
      expect(await failure(create(store, '/a/y', 'two'))).toMatchObject({ code: 'refused' });
    });

    it('a client certificate over TLS; without one the connection is refused', async ({ expect }) => {
      const etcd = await startEtcd({
        scheme: 'https',
        args: [
          ...['--cert-file', tls('server.crt'), '--key-file', tls('server.key')],
          ...['--client-cert-auth', '--trusted-ca-file', tls('client.crt')],
        ],
      });
      servers.push(etcd);
      const [ca, cert, key] = await Promise.all(
        ['ca.crt', 'client.crt', 'client.key'].map((name) => readFile(tls(name))),
      );
      if (ca === undefined || cert === undefined || key === undefined) throw new Error('three files');
      const { endpoints } = etcd;
      const { store, time } = await open({ endpoints, prefix: '/fleet', tls: { ca, cert, key }, openWithinMs: 10_000 });
      await create(store, '/a/x', 'one');
      expect(await time.ask(() => performance.now())).toHaveLength(1);
      // The clock is read only from a server with the right certificate.
      const [address = ''] = endpoints;
      expect(await readDateHeader(address, { ca: cert, cert, key }, 5_000)).toBeUndefined();
      expect(await readDateHeader(address, { ca }, 5_000)).toBeUndefined();
      // A wrong client certificate, and a wrong server certificate.
      for (const tls of [{ ca }, { ca: cert, cert, key }]) {
        await expect(open({ endpoints, prefix: '/fleet', tls })).rejects.toMatchObject({ code: 'refused' });
      }
      await expect(open({ endpoints, prefix: '/fleet' })).rejects.toMatchObject({ code: 'unavailable' });
    });
  },
  CONCURRENT,
);

describeWithEtcd(
  'a write without an answer',
  () => {
    const { open, closeAll } = opener();
    let etcd: Etcd;
    let proxy: TcpProxy;
    beforeAll(async () => {
      etcd = await startEtcd();
      proxy = await TcpProxy.to(etcd.endpoints[0] ?? '');
    });
    afterAll(async () => {
      await closeAll();
      proxy.close();
      await etcd.destroy();
    });

    it('fails with unknown-outcome if it was sent, and with unavailable if it was not', async ({ expect }) => {
      const { store } = await open({ endpoints: [proxy.endpoint], prefix: '/fleet', openWithinMs: 10_000 });
      await create(store, '/a/x', 'one');
      proxy.slow(60_000);
      expect(await failure(create(store, '/a/y', 'two'))).toMatchObject({ code: 'unknown-outcome' });
      const { store: direct } = await open({ endpoints: etcd.endpoints, prefix: '/fleet', openWithinMs: 10_000 });
      expect(text((await direct.get('/a/y'))?.value)).toBe('two');
      proxy.close();
      await expect.poll(() => failure(create(store, '/a/z', 'three'))).toMatchObject({ code: 'unavailable' });
      expect(await direct.get('/a/z')).toBeUndefined();
    });
  },
  CONCURRENT,
);

describe('without a server', CONCURRENT, () => {
  it('opening fails within the time, with the address', async ({ expect }) => {
    const failed = await opener()
      .open({ endpoints: ['127.0.0.1:1'], prefix: '/fleet' })
      .catch((reason: unknown) => reason);
    expect(failed).toMatchObject({ code: 'unavailable' });
    expect(String(failed)).toMatch(/127\.0\.0\.1:1/);
  });
});

describeWithEtcd(
  'B30: a cluster with one member that hangs',
  () => {
    const { open, closeAll } = opener();
    let etcd: Etcd;
    beforeAll(async () => {
      etcd = await startEtcd({ size: 3 });
    });
    afterAll(async () => {
      for (const member of etcd.members) member.signal('SIGCONT');
      await closeAll();
      await etcd.destroy();
    });

    it('reads do not wait for it, and a watch resumes at another member, without a gap', async ({ expect }) => {
      const { store } = await open({ endpoints: etcd.endpoints, prefix: '/hangs', openWithinMs: 10_000 });
      const writer = (await open({ endpoints: etcd.endpoints, prefix: '/hangs', openWithinMs: 10_000 })).store;
      let position = await store.revision();
      const seen: number[] = [];
      const stop = new AbortController();
      const watching = (async () => {
        for await (const batch of store.watch('/a/', position, stop.signal)) {
          seen.push(...batch.changes.map(({ modRevision }) => modRevision));
          position = batch.revision;
        }
      })();
      /** A write to the member that hangs has an unknown result. */
      const put = async (key: string): Promise<number> => {
        for (;;) {
          await create(writer, key, 'x').catch(() => undefined);
          const found = await writer.get(key).catch(() => undefined);
          if (found !== undefined) return found.modRevision;
        }
      };
      const written = [await put('/a/x')];
      for (const member of etcd.members) {
        await expect.poll(() => seen, { interval: 10 }).toEqual(written);
        member.signal('SIGSTOP');
        // The leader may be the one that hangs: a write succeeds after the election, which may take longer than a read.
        written.push(await put(`/a/${written.length}`));
        const reads = await Promise.all(Array.from({ length: 20 }, () => store.revision()));
        expect(Math.min(...reads)).toBeGreaterThanOrEqual(written.at(-1) ?? 0);
        await expect.poll(() => seen, { interval: 10 }).toEqual(written);
        member.signal('SIGCONT');
      }
      stop.abort();
      await watching;
    });
  },
  CONCURRENT,
);

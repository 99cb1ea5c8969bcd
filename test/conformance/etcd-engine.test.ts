import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../src/observability/secret.ts';
import type { Store } from '../../src/storage/contract.ts';
import { readDateHeader } from '../../src/storage/etcd/member.ts';
import { type EtcdStoreOptions, type OpenedEtcd, openEtcdStore } from '../../src/storage/etcd/open-etcd-store.ts';
import { seedEtcdRevision } from '../../src/storage/etcd/store-meta.ts';
import { importStore } from '../../src/transfer/import-store.ts';
import { Retries } from '../../src/transfer/retries.ts';
import { TcpProxy } from '../chaos/tcp-proxy.ts';
import { describeWithEtcd, type Etcd, etcdCall, startEtcd } from './etcd-process.ts';
import { bytes, create, failure, readable, remove, text, update, watchUntil } from './harness.ts';

/** Conditions of an etcd that other programs use too. */

const opened: OpenedEtcd[] = [];
async function open(options: EtcdStoreOptions): Promise<OpenedEtcd> {
  const etcd = await openEtcdStore({ openWithinMs: 500, ...options });
  opened.push(etcd);
  return etcd;
}
const closeAll = () => Promise.all(opened.splice(0).map(({ store }) => store.close()));

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const tls = (name: string): string => fileURLToPath(new URL(`../e2e/support/tls/${name}`, import.meta.url));

describeWithEtcd('the engine on a shared etcd', () => {
  let etcd: Etcd;
  let stores = 0;
  const fresh = async (prefix = `/own-${stores++}`): Promise<Store> =>
    (await open({ endpoints: etcd.endpoints, prefix, openWithinMs: 10_000 })).store;
  const putElsewhere = (key = '/others/x') =>
    etcdCall(etcd, '/v3/kv/put', { key: base64(key), value: base64('theirs') });
  beforeAll(async () => {
    etcd = await startEtcd({ args: ['--max-request-bytes', '1500000', '--max-txn-ops', '50'] });
  });
  afterAll(async () => {
    await closeAll();
    await etcd.destroy();
  });

  it('B13: reads the clock of each member', async () => {
    const [one = ''] = etcd.endpoints;
    // Nothing listens at the last endpoint, which is left out.
    const { time } = await open({ endpoints: [one, '127.0.0.1:1'], prefix: '/time', openWithinMs: 10_000 });
    const before = Date.now();
    const readings = await time.ask(() => performance.now());
    expect(readings.map(({ member }) => member)).toEqual([one]);
    for (const reading of readings) {
      expect(reading.time).toBeGreaterThan(before - 1_000);
      expect(reading.time).toBeLessThanOrEqual(Date.now());
      expect(reading.answered).toBeGreaterThan(reading.asked);
    }
  });

  it('writes of other programs leave gaps between revisions', async () => {
    const store = await fresh();
    const neighbour = await fresh();
    const start = await store.revision();
    const first = await create(store, '/a/x', 'one');
    await putElsewhere();
    await create(neighbour, '/a/x', 'not ours');
    const second = await update(store, '/a/x', first, 'two');
    expect(second).toBe(first + 3);
    for (let i = 0; i < 5; i++) await putElsewhere();
    const now = await store.revision();
    expect(now).toBe(second + 5);
    expect((await store.list({ prefix: '/' })).items.map(readable)).toEqual([
      { key: '/a/x', value: 'two', mod: second, created: first },
    ]);
    // The watch also reaches a revision of another program.
    expect((await watchUntil(store, '/a/', start, now)).map(({ modRevision }) => modRevision)).toEqual([first, second]);
  });

  it('a prefix that begins with another prefix is another store', async () => {
    const [store, ...others] = [await fresh('/pre'), await fresh('/pre-fix'), await fresh('/pre/fix')];
    for (const other of others) await create(other, '/a/x', 'not ours');
    expect((await store?.list({ prefix: '/' }))?.items).toEqual([]);
  });

  it('a compaction by another program fails reads and watches with compacted, with the revision', async () => {
    const store = await fresh();
    const first = await create(store, '/a/x', 'one');
    const second = await update(store, '/a/x', first, 'two');
    const third = await update(store, '/a/x', second, 'three');
    await etcdCall(etcd, '/v3/kv/compaction', { revision: third });
    const gone = { code: 'compacted', revision: third - 1 };
    expect(await failure(store.get('/a/x', first))).toEqual(gone);
    expect(await failure(watchUntil(await fresh(), '/a/', first, third))).toEqual(gone);
    expect(await store.compactedRevision()).toBe(third - 1);
    // An earlier revision is already compacted.
    await store.compact(second);
    expect(readable(await store.get('/a/x', third))).toMatchObject({ value: 'three' });
  });

  it('a watch from the revision before a compaction does not skip a deletion at that revision', async () => {
    const store = await fresh();
    const made = await create(store, '/a/x', 'one');
    const deleted = await remove(store, '/a/x', made);
    await etcdCall(etcd, '/v3/kv/compaction', { revision: deleted });
    expect(await failure(watchUntil(await fresh(), '/a/', made, deleted))).toMatchObject({ code: 'compacted' });
  });

  it('a long history arrives in fragments, complete', async () => {
    const store = await fresh();
    const start = await store.revision();
    const value = new Uint8Array(100_000).fill(0x61);
    const written: number[] = [];
    for (let i = 0; i < 60; i++) {
      const result = await store.write({ key: `/a/${i}`, value, expect: { absent: true } });
      written.push(result.revision);
    }
    const seen = await watchUntil(store, '/a/', start, written.at(-1) ?? 0);
    expect(seen.map(({ modRevision }) => modRevision)).toEqual(written);
  });

  it('a value above the limit of etcd fails with too-large, and the store stays usable', async () => {
    const store = await fresh();
    const value = new Uint8Array(2_000_000);
    expect(await failure(store.write({ key: '/a/x', value, expect: { absent: true } }))).toMatchObject({
      code: 'too-large',
    });
    await create(store, '/a/x', 'small');
  });

  it('a store that was replaced while open refuses writes', async () => {
    const store = await fresh('/replaced');
    await create(store, '/a/x', 'one');
    await etcdCall(etcd, '/v3/kv/put', {
      key: base64('/replaced/meta'),
      value: base64(JSON.stringify({ format: 1, offset: 1_000_000, oldest: 1_000_000 })),
    });
    const write = store.write({ key: '/a/y', value: bytes('y'), expect: { absent: true } });
    expect(await failure(write)).toMatchObject({ code: 'replaced' });
    expect(await failure(store.revision())).toMatchObject({ code: 'replaced' });
    // After opening it again, revisions continue those of the other store.
    const again = await fresh('/replaced');
    expect(await again.revision()).toBeGreaterThan(1_000_000);
    expect(await failure(again.get('/a/x', 5))).toEqual({ code: 'compacted', revision: 999_999 });
    const made = await create(again, '/a/y', 'y');
    expect(made).toBeGreaterThan(1_000_000);
    expect((await watchUntil(again, '/a/', made - 1, made)).map(({ modRevision }) => modRevision)).toEqual([made]);
    expect((await again.write({ key: '/a/y', value: null, expect: { modRevision: made } })).ok).toBe(true);
  });

  it.each([
    ['not JSON', 'x'],
    ['a newer format', JSON.stringify({ format: 2, offset: 0, oldest: 0 })],
    ['no numbers', JSON.stringify({ format: 1, offset: '1', oldest: null })],
    ['null', 'null'],
  ])('keys of another program are not changed: %s', async (name, value) => {
    const prefix = `/foreign-${name.replaceAll(' ', '-')}`;
    await etcdCall(etcd, '/v3/kv/put', { key: base64(`${prefix}/meta`), value: base64(value) });
    expect(await failure(fresh(prefix))).toMatchObject({ code: 'unreadable' });
  });

  it('concurrent calls of revision share a request, and none gets a result from before its call', async () => {
    const store = await fresh();
    await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const written = i % 4 === 0 ? await create(store, `/a/${i}`, 'x') : 0;
        expect(await store.revision()).toBeGreaterThanOrEqual(written);
      }),
    );
  });

  it('keys that are created together share a revision; none is created if one exists', async () => {
    const store = await fresh();
    const mark = { key: '/mark', expect: { modRevision: await create(store, '/mark', 'mine') } };
    const items = (...names: string[]) => names.map((name) => ({ key: `/a/${name}`, value: bytes(name) }));
    const createTogether = (...names: string[]) => store.createTogether?.(items(...names), mark);
    expect(await createTogether('x', 'y')).toBe(true);
    expect(await createTogether('y', 'z')).toBe(false);
    const found = (await store.list({ prefix: '/a/' })).items;
    expect(found.map(({ key, value }) => [key, text(value)])).toEqual([
      ['/a/x', 'x'],
      ['/a/y', 'y'],
    ]);
    expect(new Set(found.map(({ modRevision }) => modRevision)).size).toBe(1);
    await update(store, '/mark', mark.expect.modRevision, 'another');
    expect(await createTogether('z')).toBe(false);
    const many = Array.from({ length: 100 }, (_, i) => `${i}`);
    expect(await failure(Promise.resolve(createTogether(...many)))).toMatchObject({ code: 'refused' });
  });

  it('an import waits for a member that hangs, and creates keys one by one where etcd takes fewer', async () => {
    const [member] = etcd.members;
    const access = { endpoints: etcd.endpoints };
    const prefix = '/imported';
    let hangs = false;
    let waits = 0;
    const target = {
      open: async () => {
        const store = await fresh(prefix);
        const createTogether = store.createTogether?.bind(store);
        store.createTogether = async (...args) => {
          if (!hangs) member?.signal('SIGSTOP');
          hangs = true;
          return (await createTogether?.(...args)) ?? false;
        };
        return store;
      },
      seedRevision: (revision: number) => seedEtcdRevision(access, prefix, revision),
    };
    const retries = new Retries({
      onWait: () => {
        waits += 1;
        member?.signal('SIGCONT');
      },
    });
    const items = Array.from({ length: 120 }, (_, i) => ({
      key: `/registry/a/${i}`,
      value: bytes(`${i}`),
      createRevision: i + 1,
    }));
    await importStore(target, { revision: 1, items }, retries);
    expect(waits).toBeGreaterThan(0);
    const found = (await (await fresh(prefix)).list({ prefix: '/' })).items;
    expect(found.map(({ key, value }) => [key, text(value)]).toSorted()).toEqual(
      items.map(({ key, value }) => [key, text(value)]).toSorted(),
    );
  });

  it('one process leads; after it resigns another does, and the fence of the first fails', async () => {
    const prefix = '/led';
    const replicas = await Promise.all([1, 2].map(() => open({ endpoints: etcd.endpoints, prefix })));
    const [first, second] = replicas.map((replica) => replica.campaign());
    if (first === undefined || second === undefined) throw new Error('there are two');
    await expect.poll(() => Number(first.leads()) + Number(second.leads())).toBe(1);
    const [leader, follower] = first.leads() ? [first, second] : [second, first];
    const fence = leader.fence();
    if (fence === undefined) throw new Error('a leader has a fence');
    expect(follower.fence()).toBeUndefined();
    const store = replicas[0]?.store as Store;
    const guarded = (key: string) => store.write({ key, value: bytes('x'), expect: { absent: true }, guards: [fence] });
    expect(await guarded('/a/while')).toMatchObject({ ok: true });
    await leader.close();
    expect(leader.leads()).toBe(false);
    expect(await guarded('/a/after')).toMatchObject({ ok: false, key: fence.key });
    await expect.poll(() => follower.leads()).toBe(true);
    expect(await guarded('/a/later')).toMatchObject({ ok: false, key: fence.key });
    expect(follower.fence()).not.toEqual(fence);
    await follower.close();
  });

  it('a process whose store was replaced leads no longer, and is not elected again', async () => {
    const prefix = '/led-before';
    const replicas = await Promise.all([1, 2].map(() => open({ endpoints: etcd.endpoints, prefix })));
    const former = replicas.map((replica) => replica.campaign());
    const leaders = () => former.filter((one) => one.leads());
    await expect.poll(() => leaders().length).toBe(1);
    await seedEtcdRevision({ endpoints: etcd.endpoints }, prefix, 1_000);
    const next = (await open({ endpoints: etcd.endpoints, prefix })).campaign();
    await expect.poll(() => next.leads()).toBe(true);
    expect(leaders()).toEqual([]);
    await next.close();
    const later = (await open({ endpoints: etcd.endpoints, prefix })).campaign();
    await expect.poll(() => later.leads()).toBe(true);
    expect(leaders()).toEqual([]);
    await Promise.all([...former, later].map((one) => one.close()));
  });

  it('a leader whose key was removed leads no longer', async () => {
    const prefix = '/led-removed';
    const { campaign } = await open({ endpoints: etcd.endpoints, prefix });
    const leader = campaign();
    await expect.poll(() => leader.leads()).toBe(true);
    const first = leader.fence();
    await etcdCall(etcd, '/v3/kv/deleterange', { key: base64(`${prefix}/data/internal/leader`) });
    // The store is the same one, so it is elected again.
    await expect.poll(() => [undefined, first].some((fence) => isDeepStrictEqual(leader.fence(), fence))).toBe(false);
    await leader.close();
  });
});

describeWithEtcd('an etcd that was restored from an older copy while it was in use', () => {
  afterAll(closeAll);

  it('is another store: its revisions are other changes, and a watch would wait for future ones', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clusterpass-restored-'));
    const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
    const etcd = await startEtcd({ args: ['--data-dir', data] });
    onTestFinished(async () => {
      await etcd.destroy();
      await rm(folder, { recursive: true, force: true });
    });
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
});

describeWithEtcd('authentication', () => {
  const servers: Etcd[] = [];
  afterAll(async () => {
    await closeAll();
    await Promise.all(servers.map((server) => server.destroy()));
  });

  it('a user with a password, also when etcd no longer knows its token', async () => {
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

    const root = (await etcdCall(etcd, '/v3/auth/authenticate', { name: 'root', password: 'r' })) as { token: string };
    await etcdCall(etcd, '/v3/auth/user/revoke', { name: 'clusterpass', role: 'fleet' }, root.token);
    expect(await failure(store.revision())).toMatchObject({ code: 'refused' });
    expect(await failure(create(store, '/a/y', 'two'))).toMatchObject({ code: 'refused' });
  });

  it('a client certificate over TLS; without one the connection is refused', async () => {
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
});

describeWithEtcd('a write without an answer', () => {
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

  it('fails with unknown-outcome if it was sent, and with unavailable if it was not', async () => {
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
});

describe('without a server', () => {
  it('opening fails within the time, with the address', async () => {
    const failed = await open({ endpoints: ['127.0.0.1:1'], prefix: '/fleet' }).catch((reason: unknown) => reason);
    expect(failed).toMatchObject({ code: 'unavailable' });
    expect(String(failed)).toMatch(/127\.0\.0\.1:1/);
  });
});

describeWithEtcd('B30: a cluster with one member that hangs', () => {
  let etcd: Etcd;
  beforeAll(async () => {
    etcd = await startEtcd({ size: 3 });
  });
  afterAll(async () => {
    for (const member of etcd.members) member.signal('SIGCONT');
    await closeAll();
    await etcd.destroy();
  });

  it('reads do not wait for it, and a watch resumes at another member, without a gap', async () => {
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
});

import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Store } from '../../src/storage/contract.ts';
import { seedEtcdRevision } from '../../src/storage/etcd/store-meta.ts';
import { importStore } from '../../src/transfer/import-store.ts';
import { describeWithEtcd, type Etcd, etcdCall, startEtcd } from './etcd-process.ts';
import { bytes, compactedRevision, create, failure, readable, remove, text, update, watchUntil } from './harness.ts';
import { opener } from './open-etcd.ts';

/** Conditions of an etcd that other programs use too. */

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describeWithEtcd('the engine on a shared etcd', () => {
  const { open, closeAll } = opener();
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
    const gone = { code: 'compacted' };
    expect(await failure(store.get('/a/x', first))).toEqual(gone);
    expect(await failure(watchUntil(await fresh(), '/a/', first, third))).toEqual(gone);
    expect(await compactedRevision(store)).toBe(third - 1);
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
    expect(await failure(again.get('/a/x', 5))).toEqual({ code: 'compacted' });
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

  it('an import waits for a member that hangs', async () => {
    const [member] = etcd.members;
    const access = { endpoints: etcd.endpoints };
    const prefix = '/imported';
    let hangs = false;
    const target = {
      open: async () => {
        const store = await fresh(prefix);
        const write = store.write.bind(store);
        store.write = async (...args) => {
          if (!hangs) {
            member?.signal('SIGSTOP');
            setTimeout(() => member?.signal('SIGCONT'), 3_000);
          }
          hangs = true;
          return write(...args);
        };
        return store;
      },
      seedRevision: (revision: number) => seedEtcdRevision(access, prefix, revision),
    };
    const items = Array.from({ length: 120 }, (_, i) => ({
      key: `/registry/a/${i}`,
      value: bytes(`${i}`),
      createRevision: i + 1,
    }));
    await importStore(target, { revision: 1, items });
    expect(hangs).toBe(true);
    const found = (await (await fresh(prefix)).list({ prefix: '/' })).items;
    expect(found.map(({ key, value }) => [key, text(value)]).toSorted()).toEqual(
      items.map(({ key, value }) => [key, text(value)]).toSorted(),
    );
  });

  // Concurrent, because they wait for elections.
  it.concurrent('one process leads; after it resigns another does, and the fence of the first fails', async ({
    expect,
  }) => {
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

  it.concurrent('a process whose store was replaced leads no longer, and is not elected again', async ({ expect }) => {
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

  it.concurrent('a leader whose key was removed leads no longer', async ({ expect }) => {
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

import { describe, expect, it } from 'vitest';
import {
  bytes,
  compactedRevision,
  create,
  failure,
  readable,
  readableChange,
  remove,
  update,
  watchUntil,
} from './harness.ts';
import type { Fixture } from './store-conformance.ts';

export function lifetimePromises(fixture: Fixture): void {
  describe('close and open again', () => {
    it('values, revisions, history and the compacted revision are as before', async () => {
      const { engine, store } = fixture;
      const start = await store.revision();
      const first = await create(store, '/a/x', 'one');
      const second = await update(store, '/a/x', first, 'two');
      const other = await create(store, '/a/y', 'one');
      await remove(store, '/a/y', other);
      const last = await create(store, '/a/z', 'one');
      const items = (await store.list({ prefix: '/a/' })).items.map(readable);
      const changes = (await watchUntil(store, '/a/', start, last)).map(readableChange);

      fixture.store = await engine.reopen(store);
      expect(await fixture.store.revision()).toBeGreaterThanOrEqual(last);
      expect((await fixture.store.list({ prefix: '/a/' })).items.map(readable)).toEqual(items);
      expect(readable(await fixture.store.get('/a/x', first))).toMatchObject({ value: 'one' });
      expect((await watchUntil(fixture.store, '/a/', start, last)).map(readableChange)).toEqual(changes);

      await fixture.store.compact(second);
      fixture.store = await engine.reopen(fixture.store);
      expect(await compactedRevision(fixture.store)).toBe(second - 1);
      expect(await failure(fixture.store.get('/a/x', first))).toEqual({ code: 'compacted' });
    });

    it('knownRevision includes every answered write, and is undefined once the store is closed', async () => {
      const { engine, store } = fixture;
      const created = await create(store, '/a/x', 'one');
      expect([created, undefined]).toContain(store.knownRevision?.());
      await update(store, '/a/x', created, 'two');
      expect([await store.revision(), undefined]).toContain(store.knownRevision?.());
      fixture.store = await engine.reopen(store);
      expect(store.knownRevision?.()).toBeUndefined();
      expect([await fixture.store.revision(), undefined]).toContain(fixture.store.knownRevision?.());
    });

    it('no revision is used twice, not even when all keys have been deleted and compacted', async () => {
      const { engine } = fixture;
      for (let i = 0; i < 3; i++) {
        const deleted = await remove(fixture.store, '/a/x', await create(fixture.store, '/a/x', 'one'));
        await fixture.store.compact(deleted);
        fixture.store = await engine.reopen(fixture.store);
        expect(await fixture.store.revision()).toBeGreaterThanOrEqual(deleted);
        expect(await create(fixture.store, `/b/${i}`, 'one')).toBeGreaterThan(deleted);
      }
    });

    it('B17: a store with one old key, and only deletions after the compacted revision, opens again', async () => {
      const { engine } = fixture;
      const lives = await create(fixture.store, '/a/lives', 'one');
      const made = await Promise.all(Array.from({ length: 20 }, (_, i) => create(fixture.store, `/b/${i}`, 'x')));
      for (const [i, revision] of made.entries()) await remove(fixture.store, `/b/${i}`, revision);
      const last = await fixture.store.revision();
      // In the middle of the deletions, after them, and again without changes.
      for (const revision of [last - 10, last, last]) {
        await fixture.store.compact(revision);
        fixture.store = await engine.reopen(fixture.store);
        expect(await fixture.store.revision()).toBeGreaterThanOrEqual(last);
        expect(await compactedRevision(fixture.store)).toBe(revision - 1);
        const { items } = await fixture.store.list({ prefix: '/' });
        expect(items.filter(({ key }) => /^\/[ab]\//.test(key)).map(readable)).toMatchObject([{ mod: lives }]);
        expect((await watchUntil(fixture.store, '/b/', revision, last)).map(({ type }) => type)).toEqual(
          Array.from({ length: last - revision }, () => 'delete'),
        );
      }
      expect(await update(fixture.store, '/a/lives', lives, 'two')).toBeGreaterThan(last);
    });

    it('close finishes the writes that were called before it', async () => {
      const { engine, store } = fixture;
      const writing = Promise.all(Array.from({ length: 50 }, (_, i) => create(store, `/a/${i}`, 'x')));
      const closing = store.close();
      const revisions = await writing;
      await closing;
      fixture.store = await engine.reopen(store);
      const { items } = await fixture.store.list({ prefix: '/a/' });
      expect(items.map(({ modRevision }) => modRevision).toSorted((a, b) => a - b)).toEqual(
        revisions.toSorted((a, b) => a - b),
      );
    });

    it('after seeding a revision, later revisions are greater, and earlier ones are compacted', async () => {
      const { engine } = fixture;
      const before = await fixture.store.revision();
      const source = before + 1_000_000;
      // Twice, as after an interrupted import; and with a lower revision, which must not lower the counter.
      for (const revision of [source, source, before]) {
        fixture.store = await engine.seedRevision(fixture.store, revision);
        expect(await fixture.store.revision()).toBeGreaterThan(source);
        expect(await compactedRevision(fixture.store)).toBeGreaterThanOrEqual(source);
      }
      const now = await fixture.store.revision();
      expect((await fixture.store.list({ prefix: '/', revision: now })).items).toEqual([]);
      for (const revision of [before, source]) {
        expect(await failure(fixture.store.get('/a/x', revision))).toMatchObject({ code: 'compacted' });
        expect(await failure(watchUntil(fixture.store, '/a/', revision, now + 1))).toMatchObject({ code: 'compacted' });
      }
      const made = await create(fixture.store, '/a/x', 'one');
      const changed = await update(fixture.store, '/a/x', made, 'two');
      expect(made).toBeGreaterThan(source);
      const seen = [made, changed];
      expect((await watchUntil(fixture.store, '/a/', now, changed)).map(({ modRevision }) => modRevision)).toEqual(
        seen,
      );
      expect(readable(await fixture.store.get('/a/x', made))).toMatchObject({ value: 'one', mod: made, created: made });
      await fixture.store.compact(changed);
      expect(await failure(fixture.store.get('/a/x', made))).toEqual({ code: 'compacted' });
      fixture.store = await engine.reopen(fixture.store);
      expect(readable(await fixture.store.get('/a/x'))).toMatchObject({ value: 'two', mod: changed, created: made });
    });

    it('every call after close fails with closed; close itself may be called again', async () => {
      const { store } = fixture;
      await store.close();
      await store.close();
      const watching = async () => {
        for await (const _ of store.watch('/a/', 1, new AbortController().signal)) return;
      };
      const calls = {
        get: store.get('/a/x'),
        list: store.list({ prefix: '/a/' }),
        write: store.write({ key: '/a/x', value: bytes('x'), expect: { absent: true } }),
        watch: watching(),
        revision: store.revision(),
        compactedRevision: compactedRevision(store),
        compact: store.compact(1),
      };
      const codes = await Promise.all(
        Object.entries(calls).map(async ([name, call]) => [name, (await failure(call)).code]),
      );
      expect(codes).toEqual(Object.keys(calls).map((name) => [name, 'closed']));
    });
  });
}

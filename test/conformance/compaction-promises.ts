import { describe, expect, it } from 'vitest';
import type { Change, Revision, Store } from '../../src/storage/contract.ts';
import { compactedRevision, create, failure, readable, readableChange, remove, update, watchUntil } from './harness.ts';
import type { Fixture } from './store-conformance.ts';

/** Two keys that stay, one of them changed; one that is deleted; one that is deleted and created again. */
async function someHistory(store: Store): Promise<{ revisions: Revision[]; last: Revision }> {
  const stays = await create(store, '/a/stays', 'one');
  const changed = await create(store, '/a/changed', 'one');
  const gone = await create(store, '/a/gone', 'one');
  const again = await create(store, '/a/again', 'one');
  const changedAgain = await update(store, '/a/changed', changed, 'two');
  const deleted = await remove(store, '/a/gone', gone);
  const againDeleted = await remove(store, '/a/again', again);
  const last = await create(store, '/a/again', 'two');
  return { revisions: [stays, changed, gone, again, changedAgain, deleted, againDeleted, last], last };
}

export function compactionPromises(fixture: Fixture): void {
  describe('compact', () => {
    it('keeps current values, their revisions and the store’s', async () => {
      const { store } = fixture;
      await someHistory(store);
      const before = await store.list({ prefix: '/a/' });
      await store.compact(before.revision);
      const after = await store.list({ prefix: '/a/' });
      expect(after.items.map(readable)).toEqual(before.items.map(readable));
      expect(await store.revision()).toBe(before.revision);
      for (const item of before.items) expect(readable(await store.get(item.key))).toEqual(readable(item));
      expect(await store.get('/a/gone')).toBeUndefined();
    });

    it('older revisions fail with compacted for get, list and watch, and the error has the revision', async () => {
      const { store } = fixture;
      const { revisions, last } = await someHistory(store);
      await store.compact(last);
      for (const revision of revisions.filter((r) => r < last)) {
        const gone = { code: 'compacted' };
        expect(await failure(store.get('/a/stays', revision))).toEqual(gone);
        expect(await failure(store.list({ prefix: '/a/', revision }))).toEqual(gone);
        if (revision < last - 1) expect(await failure(watchUntil(store, '/a/', revision, last))).toMatchObject(gone);
      }
      expect(await compactedRevision(store)).toBe(last - 1);
    });

    it('the revision compacted at can still be read and watched from', async () => {
      const { store } = fixture;
      const { revisions, last } = await someHistory(store);
      const states = await Promise.all(
        revisions.map(async (at) => ({
          at,
          before: await store.list({ prefix: '/a/', revision: at }),
          changes: await watchUntil(store, '/a/', at, last),
        })),
      );
      for (const { at, before, changes } of states) {
        await store.compact(at);
        const after = await store.list({ prefix: '/a/', revision: at });
        expect(after.items.map(readable)).toEqual(before.items.map(readable));
        expect((await watchUntil(store, '/a/', at, last)).map(readableChange)).toEqual(changes.map(readableChange));
      }
    });

    it('a watch never skips compacted changes: it shows every change or fails', async () => {
      const { store } = fixture;
      const { revisions, last } = await someHistory(store);
      for (const at of revisions) {
        await store.compact(at);
        // One revision before the oldest: the first change may be a deletion that has been removed.
        const outcome = await watchUntil(store, '/a/', at - 1, last).then(
          (changes) => changes.map(({ modRevision }) => modRevision),
          (error: { code: string }) => error.code,
        );
        expect(['compacted', revisions.filter((r) => r >= at)]).toContainEqual(outcome);
      }
    });

    it('is idempotent, and never goes back', async () => {
      const { store } = fixture;
      const { revisions, last } = await someHistory(store);
      await Promise.all([store.compact(last), store.compact(last)]);
      const before = await store.list({ prefix: '/a/' });
      for (const revision of [last, ...revisions, 1, 0]) await store.compact(revision);
      expect(await compactedRevision(store)).toBe(last - 1);
      expect((await store.list({ prefix: '/a/' })).items.map(readable)).toEqual(before.items.map(readable));
    });

    it('a watch that is up to date continues', async () => {
      const { store } = fixture;
      const { last } = await someHistory(store);
      const watching = store.watch('/a/', last, AbortSignal.timeout(50_000))[Symbol.asyncIterator]();
      const seen: number[] = [];
      const take = async (): Promise<void> => {
        const { value, done: isDone } = await watching.next();
        if (isDone) throw new Error('the watch ended');
        seen.push(...value.changes.map(({ modRevision }: Change) => modRevision));
      };
      const taken = take();
      const first = await create(store, '/a/x', 'one');
      await taken;
      while (seen.length < 1) await take();
      await store.compact(first);
      const second = await update(store, '/a/x', first, 'two');
      while (seen.length < 2) await take();
      await watching.return?.();
      expect(seen).toEqual([first, second]);
    });

    it('a deleted key stays deleted, and can be created again', async () => {
      const { store } = fixture;
      for (let i = 0; i < 5; i++) {
        const made = await create(store, '/a/x', `${i}`);
        const changed = await update(store, '/a/x', made, `${i}!`);
        const deleted = await remove(store, '/a/x', changed);
        await store.compact(deleted);
        expect(await store.get('/a/x')).toBeUndefined();
        expect(await store.get('/a/x', deleted)).toBeUndefined();
        expect((await store.list({ prefix: '/a/' })).items).toEqual([]);
      }
    });

    it('expectations mean the same before and after it', async () => {
      const { store } = fixture;
      const made = await create(store, '/a/x', 'one');
      const changed = await update(store, '/a/x', made, 'two');
      const gone = await create(store, '/a/gone', 'one');
      const deleted = await remove(store, '/a/gone', gone);
      await store.compact(deleted);
      const value = null;
      expect((await store.write({ key: '/a/gone', value, expect: { modRevision: deleted } })).ok).toBe(false);
      expect((await store.write({ key: '/a/x', value, expect: { modRevision: made } })).ok).toBe(false);
      expect((await store.write({ key: '/a/x', value, expect: { createRevision: changed } })).ok).toBe(false);
      expect((await store.write({ key: '/a/x', value, expect: { createRevision: made } })).ok).toBe(true);
    });
  });
}

import { describe, expect, it } from 'vitest';
import { type Change, type Revision, StorageError, type Store, type WatchBatch } from '../../src/storage/contract.ts';
import { bytes, create, done, readable, readableChange, remove, update, watchUntil } from './harness.ts';
import type { Fixture } from './store-conformance.ts';

/** Creates, updates and deletes keys under the prefix; returns the changes in order. */
async function churn(store: Store, prefix: string, rounds: number): Promise<ReturnType<typeof readableChange>[]> {
  const changes: ReturnType<typeof readableChange>[] = [];
  for (let i = 0; i < rounds; i++) {
    const key = `${prefix}${i % 7}`;
    const current = await store.get(key);
    if (current === undefined) {
      const mod = await create(store, key, `${i}`);
      changes.push({ key, value: `${i}`, mod, created: mod });
    } else if (i % 3 === 0) {
      changes.push({ key, deleted: await remove(store, key, current.modRevision) });
    } else {
      const mod = await update(store, key, current.modRevision, `${i}`);
      changes.push({ key, value: `${i}`, mod, created: current.createRevision });
    }
  }
  return changes;
}

function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof StorageError) || error.code !== 'unavailable') throw error;
}

const revisionOf = (change: ReturnType<typeof readableChange>): Revision =>
  change !== undefined && 'deleted' in change ? change.deleted : (change?.mod ?? 0);

export function watchPromises(fixture: Fixture): void {
  describe('B3, B4: watch', () => {
    it('from the revision of an empty, idle store shows the first write after it', async () => {
      const { store } = fixture;
      const { items, revision } = await store.list({ prefix: '/a/' });
      expect(items).toEqual([]);
      const watching = store.watch('/a/', revision, AbortSignal.timeout(30_000))[Symbol.asyncIterator]();
      const first = watching.next();
      const made = await create(store, '/a/x', 'one');
      expect((await first).value.changes.map(readableChange)).toEqual([
        { key: '/a/x', value: 'one', mod: made, created: made },
      ]);
      await watching.return?.();
    });

    it('shows concurrent writes in order of revision, each once, none left out', async () => {
      const { store } = fixture;
      const start = await store.revision();
      const stop = new AbortController();
      const seen: Change[] = [];
      let end = Number.POSITIVE_INFINITY;
      const watching = (async () => {
        for await (const batch of store.watch('/a/', start, stop.signal)) {
          seen.push(...batch.changes);
          if (batch.revision >= end) return;
        }
      })();
      const written = await Promise.all(Array.from({ length: 8 }, (_, i) => churn(store, `/a/${i}/`, 40)));
      end = await create(store, '/a/last', 'x');
      // The event may arrive before the write is answered, and no other would follow.
      if ((seen.at(-1)?.modRevision ?? 0) >= end) stop.abort();
      await watching;
      const expected = written.flat().toSorted((a, b) => revisionOf(a) - revisionOf(b));
      expect(seen.slice(0, -1).map(readableChange)).toEqual(expected);
    });

    it('list, then watch from its revision: no change is missed and none comes twice while others write', async () => {
      const { store } = fixture;
      let writing = true;
      const writers = Promise.all(
        Array.from({ length: 4 }, async (_, i) => {
          // A busy machine may not answer one of them in time: the next reads what was written.
          while (writing) await churn(store, `/a/${i}/`, 20).catch(ignoreUnavailable);
        }),
      );
      const seams = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const { items, revision } = await store.list({ prefix: '/a/' });
          const state = new Map(items.map((item) => [item.key, readable(item)]));
          const until = revision + 200;
          for (const change of await watchUntil(store, '/a/', revision, until)) {
            const before = state.get(change.key);
            expect(change.modRevision).toBeGreaterThan(before?.mod ?? 0);
            if (change.type === 'delete') {
              expect(before, `${change.key} is deleted, so it was there`).toBeDefined();
              state.delete(change.key);
            } else {
              // The key is new exactly when the watch has not shown it before.
              expect(change.createRevision).toBe(before?.created ?? change.modRevision);
              state.set(change.key, readable(change));
            }
          }
          return { state, until };
        }),
      );
      writing = false;
      await writers;
      for (const { state, until } of seams) {
        const { items } = await store.list({ prefix: '/a/', revision: until });
        expect([...state.values()].toSorted((a, b) => ((a?.key ?? '') < (b?.key ?? '') ? -1 : 1))).toEqual(
          items.map(readable),
        );
      }
    });

    it('shows only keys below its prefix, and refuses one without "/" at its end', async () => {
      const { store } = fixture;
      const start = await store.revision();
      for (const key of ['/ab/x', '/a/x', '/a', '/a0', '/b/x', '/a/y/z']) await create(store, key, 'x');
      const end = await create(store, '/a/last', 'x');
      const seen = await watchUntil(store, '/a/', start, end);
      expect(seen.map(({ key }) => key)).toEqual(['/a/x', '/a/y/z', '/a/last']);
      for (const prefix of ['/a', '']) {
        const refused = async () => {
          for await (const _ of store.watch(prefix, start, AbortSignal.timeout(30_000))) return;
        };
        await expect(refused(), prefix).rejects.toThrow(RangeError);
      }
    });

    it('its revision advances also when no key below its prefix changes', async () => {
      const { store } = fixture;
      const start = await store.revision();
      const elsewhere = await create(store, '/b/x', 'x');
      expect(await watchUntil(store, '/a/', start, elsewhere)).toEqual([]);
      const live = watchUntil(store, '/a/', elsewhere, elsewhere + 1);
      await create(store, '/b/y', 'x');
      expect(await live).toEqual([]);
    });

    it('from a revision that has not happened shows the changes after it', async () => {
      const { store } = fixture;
      const future = (await store.revision()) + 5;
      const stop = new AbortController();
      const seen: Change[] = [];
      const watching = (async () => {
        for await (const batch of store.watch('/a/', future, stop.signal)) {
          expect(batch.revision).toBeGreaterThan(future);
          seen.push(...batch.changes);
          if (seen.some(({ key }) => key === '/a/last')) return;
        }
      })();
      const written: Revision[] = [];
      for (let i = 0; i < 10; i++) written.push(await create(store, `/a/${i}`, 'x'));
      written.push(await create(store, '/a/last', 'x'));
      await watching;
      expect(seen.map(({ modRevision }) => modRevision)).toEqual(written.filter((revision) => revision > future));
    });

    it('a consumer that pauses misses no change', async () => {
      const { store } = fixture;
      const start = await create(store, '/a/first', 'x');
      const watching = store.watch('/a/', start - 1, AbortSignal.timeout(50_000))[Symbol.asyncIterator]();
      const seen: Change[] = [];
      const take = async (): Promise<WatchBatch> => {
        const { value, done: isDone } = await watching.next();
        if (isDone) throw new Error('the watch ended');
        seen.push(...value.changes);
        return value;
      };
      await take();
      const written: Revision[] = [];
      for (let i = 0; i < 40; i++) {
        const made = Array.from({ length: 50 }, (_, j) =>
          done(store, { key: `/a/${i}/${j}`, value: bytes('x'), expect: { absent: true } }),
        );
        written.push(...(await Promise.all(made)));
      }
      const end = Math.max(...written);
      while ((await take()).revision < end);
      await watching.return?.();
      expect(seen.map(({ modRevision }) => modRevision)).toEqual([start, ...written].toSorted((a, b) => a - b));
    });

    it('ends without an error when its signal aborts, before and while it waits', async () => {
      const { store } = fixture;
      const revision = await store.revision();
      const batches: WatchBatch[] = [];
      for await (const batch of store.watch('/a/', revision, AbortSignal.abort())) batches.push(batch);
      const stop = new AbortController();
      const watching = store.watch('/a/', revision, stop.signal)[Symbol.asyncIterator]();
      const waiting = watching.next();
      stop.abort();
      expect(await waiting).toEqual({ done: true, value: undefined });
      expect(batches).toEqual([]);
    });

    it('ends without an error when the store is closed', async () => {
      const { store } = fixture;
      const watching = store.watch('/a/', await store.revision(), new AbortController().signal)[Symbol.asyncIterator]();
      const waiting = watching.next();
      await store.close();
      expect(await waiting).toEqual({ done: true, value: undefined });
    });
  });
}

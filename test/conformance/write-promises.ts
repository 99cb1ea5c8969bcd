import { describe, expect, it } from 'vitest';
import { bytes, create, done, readable, remove, update } from './harness.ts';
import type { Fixture } from './store-conformance.ts';

export function writePromises(fixture: Fixture): void {
  describe('B2: write', () => {
    it('of writes that expect the same state of a key, exactly one succeeds', async () => {
      const { store } = fixture;
      let last = await create(store, '/a/counter', 'start');
      for (let round = 0; round < 10; round++) {
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            store.write({ key: '/a/counter', value: bytes(`${round}-${i}`), expect: { modRevision: last } }),
          ),
        );
        const winners = results.filter(({ ok }) => ok);
        expect(winners).toHaveLength(1);
        const winner = results.findIndex(({ ok }) => ok);
        last = winners[0]?.revision ?? 0;
        expect(readable(await store.get('/a/counter'))).toMatchObject({ value: `${round}-${winner}`, mod: last });
      }
    });

    it('of creates of the same key, exactly one succeeds, and the others get its value', async () => {
      const { store } = fixture;
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          store.write({ key: '/a/new', value: bytes(`${i}`), expect: { absent: true } }),
        ),
      );
      expect(results.filter(({ ok }) => ok)).toHaveLength(1);
      const stored = readable(await store.get('/a/new'));
      for (const result of results) {
        if (!result.ok) {
          expect(result.key).toBe('/a/new');
          expect(readable(result.current)).toEqual(stored);
          expect(result.revision).toBeGreaterThanOrEqual(stored?.mod ?? Number.NaN);
        }
      }
    });

    it('a write whose expectation fails changes nothing, not even the revision', async () => {
      const { store } = fixture;
      const made = await create(store, '/a/x', 'one');
      const before = await store.revision();
      const results = [
        await store.write({ key: '/a/x', value: bytes('two'), expect: { absent: true } }),
        await store.write({ key: '/a/x', value: bytes('two'), expect: { modRevision: made - 1 } }),
        await store.write({ key: '/a/x', value: null, expect: { modRevision: made + 1 } }),
        await store.write({ key: '/a/x', value: bytes('two'), expect: { createRevision: made + 1 } }),
      ];
      expect(results.map(({ ok }) => ok)).toEqual([false, false, false, false]);
      expect(readable(await store.get('/a/x'))).toEqual({ key: '/a/x', value: 'one', mod: made, created: made });
      expect(await store.revision()).toBe(before);
    });

    it('an absent key fails a revision expectation, and has no current value', async () => {
      const { store } = fixture;
      for (const expectation of [{ modRevision: 1 }, { createRevision: 1 }, { modRevision: 0 }]) {
        const result = await store.write({ key: '/a/none', value: bytes('x'), expect: expectation });
        expect(result).toMatchObject({ ok: false, key: '/a/none', current: undefined });
      }
      expect(await store.get('/a/none')).toBeUndefined();
    });

    it('a deleted key is absent: the revision of its deletion cannot be expected', async () => {
      const { store } = fixture;
      const made = await create(store, '/a/x', 'one');
      const deleted = await remove(store, '/a/x', made);
      for (const expectation of [{ modRevision: deleted }, { modRevision: made }, { createRevision: made }]) {
        const result = await store.write({ key: '/a/x', value: bytes('two'), expect: expectation });
        expect(result).toMatchObject({ ok: false, key: '/a/x', current: undefined });
      }
    });

    it('createRevision holds through updates and ends with the delete', async () => {
      const { store } = fixture;
      const made = await create(store, '/a/x', 'one');
      const updated = await update(store, '/a/x', made, 'two');
      const third = await done(store, { key: '/a/x', value: bytes('three'), expect: { createRevision: made } });
      expect(third).toBeGreaterThan(updated);
      await done(store, { key: '/a/x', value: null, expect: { createRevision: made } });
      const again = await create(store, '/a/x', 'again');
      expect(await store.write({ key: '/a/x', value: null, expect: { createRevision: made } })).toMatchObject({
        ok: false,
      });
      expect(again).toBeGreaterThan(third);
    });

    it('a key that is deleted and created again has a new createRevision', async () => {
      const { store } = fixture;
      const made = await create(store, '/a/x', 'one');
      await remove(store, '/a/x', made);
      const again = await create(store, '/a/x', 'two');
      const updated = await update(store, '/a/x', again, 'three');
      expect(readable(await store.get('/a/x'))).toEqual({ key: '/a/x', value: 'three', mod: updated, created: again });
    });

    it('with guards that hold the write succeeds', async () => {
      const { store } = fixture;
      const namespace = await create(store, '/ns/n', 'ns');
      await update(store, '/ns/n', namespace, 'ns again');
      const revision = await done(store, {
        key: '/a/x',
        value: bytes('one'),
        expect: { absent: true },
        guards: [
          { key: '/ns/n', expect: { createRevision: namespace } },
          { key: '/ns/other', expect: { absent: true } },
        ],
      });
      expect(readable(await store.get('/a/x'))).toMatchObject({ mod: revision });
    });

    it('with a guard that fails the write fails, and the result has the key and value of the guard', async () => {
      const { store } = fixture;
      const namespace = await create(store, '/ns/n', 'ns');
      const changed = await update(store, '/ns/n', namespace, 'terminating');
      const result = await store.write({
        key: '/a/x',
        value: bytes('one'),
        expect: { absent: true },
        guards: [
          { key: '/ns/other', expect: { absent: true } },
          { key: '/ns/n', expect: { modRevision: namespace } },
        ],
      });
      expect(result).toMatchObject({ ok: false, key: '/ns/n' });
      expect(!result.ok && readable(result.current)).toMatchObject({ value: 'terminating', mod: changed });
      expect(await store.get('/a/x')).toBeUndefined();
    });

    it('a guard holds at the instant of the write: no key is created in a deleted namespace', async () => {
      const { store } = fixture;
      for (let round = 0; round < 10; round++) {
        const namespace = await create(store, `/ns/${round}`, 'ns');
        const writes = Array.from({ length: 10 }, (_, i) =>
          store.write({
            key: `/a/${round}/${i}`,
            value: bytes('x'),
            expect: { absent: true },
            guards: [{ key: `/ns/${round}`, expect: { createRevision: namespace } }],
          }),
        );
        const deletion = remove(store, `/ns/${round}`, namespace);
        const late = Array.from({ length: 10 }, (_, i) =>
          store.write({
            key: `/a/${round}/late-${i}`,
            value: bytes('x'),
            expect: { absent: true },
            guards: [{ key: `/ns/${round}`, expect: { createRevision: namespace } }],
          }),
        );
        const deleted = await deletion;
        for (const result of await Promise.all([...writes, ...late])) {
          if (result.ok) expect(result.revision).toBeLessThan(deleted);
          else expect(result).toMatchObject({ key: `/ns/${round}`, current: undefined });
        }
      }
    });

    it('A40: a guard of an empty prefix fails while a key under it exists, and has that key', async () => {
      const { store } = fixture;
      const owner = await create(store, '/ns/n', 'ns');
      const inside = await create(store, '/a/n/x', 'one');
      await create(store, '/a/nn/x', 'beside');
      const write = {
        key: '/ns/n',
        value: null,
        expect: { modRevision: owner },
        guards: [
          { key: '/b/n/', expect: { empty: true } },
          { key: '/a/n/', expect: { empty: true } },
        ],
      } as const;
      const refused = await store.write(write);
      expect(refused).toMatchObject({ ok: false, key: '/a/n/' });
      expect(!refused.ok && readable(refused.current)).toMatchObject({ key: '/a/n/x', value: 'one', mod: inside });
      await remove(store, '/a/n/x', inside);
      await done(store, write);
      expect(await store.get('/ns/n')).toBeUndefined();
      const noPrefix = [{ key: '/a/n', expect: { empty: true } }] as const;
      await expect(
        store.write({ key: '/ns/m', value: bytes('x'), expect: { absent: true }, guards: noPrefix }),
      ).rejects.toThrow(RangeError);
    });

    it('A40: of a deletion that expects an empty prefix and a create under it that expects the owner, one succeeds', async () => {
      const { store } = fixture;
      for (let round = 0; round < 10; round++) {
        const owner = await create(store, `/ns/${round}`, 'ns');
        const put = () =>
          store.write({
            key: `/a/${round}/x`,
            value: bytes('x'),
            expect: { absent: true },
            guards: [{ key: `/ns/${round}`, expect: { createRevision: owner } }],
          });
        const removal = () =>
          store.write({
            key: `/ns/${round}`,
            value: null,
            expect: { modRevision: owner },
            guards: [{ key: `/a/${round}/`, expect: { empty: true } }],
          });
        const results = await Promise.all(round % 2 === 0 ? [put(), removal()] : [removal(), put()]);
        expect(results.filter(({ ok }) => ok)).toHaveLength(1);
      }
    });

    it('revisions of acknowledged writes only grow, and none is used twice', async () => {
      const { store } = fixture;
      const before = await store.revision();
      const concurrent = await Promise.all(Array.from({ length: 50 }, (_, i) => create(store, `/a/${i}`, 'x')));
      expect(new Set(concurrent).size).toBe(50);
      expect(Math.min(...concurrent)).toBeGreaterThan(before);
      expect(await create(store, '/a/last', 'x')).toBeGreaterThan(Math.max(...concurrent));
    });

    it('a write without an expectation, or a deletion of an absent key, is refused', async () => {
      const { store } = fixture;
      const blind = {} as { absent: true };
      await expect(store.write({ key: '/a/x', value: bytes('x'), expect: blind })).rejects.toThrow(RangeError);
      await expect(store.write({ key: '/a/x', value: null, expect: { absent: true } })).rejects.toThrow(RangeError);
      await expect(store.write({ key: '', value: bytes('x'), expect: { absent: true } })).rejects.toThrow(RangeError);
      await expect(store.write({ key: '/a/\ud800', value: bytes('x'), expect: { absent: true } })).rejects.toThrow(
        RangeError,
      );
      expect((await store.list({ prefix: '/a/' })).items).toEqual([]);
    });
  });
}

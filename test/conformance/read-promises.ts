import { describe, expect, it } from 'vitest';
import { bytes, create, done, failure, readable, remove, text, update } from './harness.ts';
import type { Fixture } from './store-conformance.ts';

export function readPromises(fixture: Fixture): void {
  describe('get, list and revision', () => {
    it('the revision of an empty store is at least 1, and reading it finds nothing', async () => {
      const { store } = fixture;
      const revision = await store.revision();
      expect(revision).toBeGreaterThanOrEqual(1);
      expect(await store.list({ prefix: '/' })).toEqual({ items: [], revision, more: false });
      expect(await store.get('/a/x')).toBeUndefined();
      expect(await store.get('/a/x', revision)).toBeUndefined();
    });

    it('every read sees every write acknowledged before it', async () => {
      const { store } = fixture;
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          const revision = await create(store, `/a/${i}`, `${i}`);
          const [now, item, list] = await Promise.all([
            store.revision(),
            store.get(`/a/${i}`),
            store.list({ prefix: '/a/' }),
          ]);
          expect(now).toBeGreaterThanOrEqual(revision);
          expect(item?.modRevision).toBe(revision);
          expect(list.revision).toBeGreaterThanOrEqual(revision);
          expect(list.items.map(({ key }) => key)).toContain(`/a/${i}`);
        }),
      );
    });

    it('a read that saw a write is never ahead of revision()', async () => {
      const { store } = fixture;
      const writing = Promise.all(Array.from({ length: 100 }, (_, i) => create(store, `/a/${i}`, 'x')));
      for (let i = 0; i < 20; i++) {
        const list = await store.list({ prefix: '/a/' });
        expect(await store.revision()).toBeGreaterThanOrEqual(list.revision);
      }
      await writing;
    });

    it('values of any bytes and of no bytes survive', async () => {
      const { store } = fixture;
      const all = Uint8Array.from({ length: 256 }, (_, i) => i);
      // Of a view into a larger buffer, exactly the view is stored.
      const view = Buffer.concat([all, all, all]).subarray(100, 300);
      const large = new Uint8Array(1_000_000).fill(0xab);
      const values = { '/a/all': all, '/a/empty': new Uint8Array(0), '/a/large': large, '/a/view': view };
      for (const [key, value] of Object.entries(values)) await done(store, { key, value, expect: { absent: true } });
      for (const [key, value] of Object.entries(values)) {
        const stored = (await store.get(key))?.value;
        expect(stored && Buffer.compare(stored, value), key).toBe(0);
      }
      const { items } = await store.list({ prefix: '/a/' });
      expect(items.map(({ key, value }) => [key, value.byteLength])).toEqual(
        Object.entries(values).map(([key, value]) => [key, value.byteLength]),
      );
    });

    it('a caller may reuse its buffer after the call', async () => {
      const { store } = fixture;
      const value = bytes('before');
      const writing = done(store, { key: '/a/x', value, expect: { absent: true } });
      value.fill(0);
      await writing;
      expect(text((await store.get('/a/x'))?.value)).toBe('before');
    });

    it('items come in the order of their UTF-8 bytes', async () => {
      const { store } = fixture;
      // U+FF5E sorts before U+1F600 by bytes and after it by UTF-16 code units.
      const keys = ['/a/-', '/a/.', '/a/0', '/a/A', '/a/a', '/a/a-b', '/a/a/b', '/a/é', '/a/\uff5e', '/a/\u{1f600}'];
      const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      for (const key of keys.toReversed()) await create(store, key, 'x');
      expect((await store.list({ prefix: '/a/' })).items.map(({ key }) => key)).toEqual(sorted);
    });

    it('a prefix lists only keys below it, and one without "/" at its end is refused', async () => {
      const { store } = fixture;
      for (const key of ['/a/x', '/ab/x', '/a', '/a0', '/a/b/c', '/A/x', '/a.b/x']) await create(store, key, 'x');
      expect((await store.list({ prefix: '/a/' })).items.map(({ key }) => key)).toEqual(['/a/b/c', '/a/x']);
      for (const prefix of ['/a', '', '/a/b']) {
        await expect(store.list({ prefix }), prefix).rejects.toThrow(RangeError);
      }
    });

    it('wildcards in a key have no meaning', async () => {
      const { store } = fixture;
      for (const key of ['/a/%', '/a/_', '/a/x', '/a/*', '/%/x']) await create(store, key, key);
      expect(text((await store.get('/a/%'))?.value)).toBe('/a/%');
      expect((await store.list({ prefix: '/%/' })).items.map(({ key }) => key)).toEqual(['/%/x']);
    });

    it('after and limit page through a list, and more tells whether items are left', async () => {
      const { store } = fixture;
      const keys = Array.from({ length: 10 }, (_, i) => `/a/${i}`);
      for (const key of keys) await create(store, key, 'x');
      await create(store, '/b/other', 'x');
      expect(await store.list({ prefix: '/a/', limit: 10 })).toMatchObject({ more: false });
      expect(await store.list({ prefix: '/a/', limit: 9 })).toMatchObject({ more: true });
      const page = await store.list({ prefix: '/a/', after: '/a/3', limit: 3 });
      expect(page.items.map(({ key }) => key)).toEqual(['/a/4', '/a/5', '/a/6']);
      expect(page.more).toBe(true);
      // After a key that does not exist, one before the prefix and one behind it.
      expect((await store.list({ prefix: '/a/', after: '/a/55' })).items.map(({ key }) => key)).toEqual(keys.slice(6));
      expect((await store.list({ prefix: '/a/', after: '/' })).items).toHaveLength(10);
      expect(await store.list({ prefix: '/a/', after: '/b/' })).toMatchObject({ items: [], more: false });
      await expect(store.list({ prefix: '/a/', limit: 0 })).rejects.toThrow(RangeError);
    });

    it('pages at one revision are one snapshot, while others write', async () => {
      const { store } = fixture;
      const mods = new Map<string, number>();
      for (let i = 0; i < 20; i++) mods.set(`/a/${i}`, await create(store, `/a/${i}`, 'old'));
      const expected = (await store.list({ prefix: '/a/' })).items.map(readable);
      const seen: ReturnType<typeof readable>[] = [];
      let page = await store.list({ prefix: '/a/', limit: 3 });
      const { revision } = page;
      for (;;) {
        seen.push(...page.items.map(readable));
        for (const [key, mod] of [...mods].slice(0, 2)) {
          mods.delete(key);
          if (mods.size % 4 === 0) await remove(store, key, mod);
          else await update(store, key, mod, 'new');
        }
        await create(store, `/a/${seen.length}-between`, 'new');
        if (!page.more) break;
        page = await store.list({ prefix: '/a/', limit: 3, revision, after: page.items.at(-1)?.key ?? '' });
        expect(page.revision).toBe(revision);
      }
      expect(seen).toEqual(expected);
    });

    it('a deleted key is not listed and does not count for limit', async () => {
      const { store } = fixture;
      for (let i = 0; i < 6; i++) {
        const made = await create(store, `/a/${i}`, 'x');
        if (i % 2 === 0) await remove(store, `/a/${i}`, made);
      }
      const { items, more } = await store.list({ prefix: '/a/', limit: 3 });
      expect(items.map(({ key }) => key)).toEqual(['/a/1', '/a/3', '/a/5']);
      expect(more).toBe(false);
    });

    it('a revision that has not happened is future, and the error has the current revision', async () => {
      const { store } = fixture;
      const revision = await create(store, '/a/x', 'x');
      const later = revision + 1000;
      expect(await failure(store.get('/a/x', later))).toEqual({ code: 'future' });
      expect(await failure(store.list({ prefix: '/a/', revision: later }))).toEqual({ code: 'future' });
      expect(await failure(store.compact(later))).toEqual({ code: 'future' });
    });
  });
}

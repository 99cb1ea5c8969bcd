import { expect, it } from 'vitest';
import { inFolder } from '../../test/objects/object-store.ts';
import type { Store } from '../storage/contract.ts';
import { openSqliteStore } from '../storage/sqlite/sqlite-store.ts';
import type { ArchiveItem } from './archive.ts';
import { importStore } from './import-store.ts';

/** Imports into a new store. `change`: what the import sees of it. Returns the keys in the order of their creation. */
async function importedKeys(file: string, items: readonly ArchiveItem[], change = (store: Store) => store) {
  const open = async () => change(await openSqliteStore({ file }));
  await importStore({ open, seedRevision: async () => {} }, { revision: 1, items });
  const store = await openSqliteStore({ file });
  const found = await store.list({ prefix: '/registry/' });
  await store.close();
  return found.items.toSorted((a, b) => a.createRevision - b.createRevision).map(({ key }) => key);
}

const item = (key: string, createRevision: number, size = 1): ArchiveItem => ({
  key,
  createRevision,
  value: Buffer.alloc(size),
});

it('creates parents before children, and the older of two first', () =>
  inFolder(async (file) => {
    const items = [
      item('/registry/serviceaccounts/a/ci/x', 1),
      item('/registry/namespaces/a/ci', 9),
      item('/registry/namespaces/a/aa', 7),
      item('/registry/clusters/b', 3),
      item('/registry/clusters/a', 5),
    ];
    expect(await importedKeys(file, items)).toEqual([
      '/registry/clusters/b',
      '/registry/clusters/a',
      '/registry/namespaces/a/aa',
      '/registry/namespaces/a/ci',
      '/registry/serviceaccounts/a/ci/x',
    ]);
  }));

it.each([
  [250, 1, [100, 100, 50]],
  [5, 200_000, [2, 2, 1]],
  [3, 600_000, [1, 1, 1]],
])('creates %i keys of %i bytes together, as many as a transaction of etcd takes', (count, size, expected) =>
  inFolder(async (file) => {
    const sizes: number[] = [];
    const items = Array.from({ length: count }, (_, index) => item(`/registry/clusters/c-${index}`, index + 1, size));
    const keys = await importedKeys(file, items, (store) =>
      Object.assign(store, {
        createTogether: async (group: readonly ArchiveItem[]) => {
          sizes.push(group.length);
          for (const { key, value } of group) await store.write({ key, value, expect: { absent: true } });
          return true;
        },
      }),
    );
    expect([sizes, keys.length]).toEqual([expected, count]);
  }),
);

import { expect, it } from 'vitest';
import { openSqliteStore } from '../storage/sqlite/sqlite-store.ts';
import { newDatabase } from '../storage/sqlite/test-store.fixture.ts';
import type { ArchiveItem } from './archive.ts';
import { importStore } from './import-store.ts';

/** Imports into a new store. Returns the keys in the order of their creation. */
async function importedKeys(file: string, items: readonly ArchiveItem[]) {
  const open = () => openSqliteStore({ file });
  await importStore({ open, seedRevision: async () => {} }, { revision: 1, items });
  const store = await openSqliteStore({ file });
  const found = await store.list({ prefix: '/registry/' });
  await store.close();
  return found.items.toSorted((a, b) => a.createRevision - b.createRevision).map(({ key }) => key);
}

const item = (key: string, createRevision: number): ArchiveItem => ({ key, createRevision, value: Buffer.alloc(1) });

it('creates parents before children, and the older of two first', async () => {
  const items = [
    item('/registry/serviceaccounts/a/ci/x', 1),
    item('/registry/namespaces/a/ci', 9),
    item('/registry/namespaces/a/aa', 7),
    item('/registry/clusters/b', 3),
    item('/registry/clusters/a', 5),
  ];
  expect(await importedKeys(newDatabase(), items)).toEqual([
    '/registry/clusters/b',
    '/registry/clusters/a',
    '/registry/namespaces/a/aa',
    '/registry/namespaces/a/ci',
    '/registry/serviceaccounts/a/ci/x',
  ]);
});

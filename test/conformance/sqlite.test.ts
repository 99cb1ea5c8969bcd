import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../src/storage/contract.ts';
import { seedSqliteRevision } from '../../src/storage/sqlite/database.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import type { StoreUnderTest } from './harness.ts';
import { importConformance, storeConformance } from './store-conformance.ts';

const directories = new WeakMap<Store, string>();

async function openIn(directory: string): Promise<Store> {
  const store = await openSqliteStore({ file: join(directory, 'store.db') });
  directories.set(store, directory);
  return store;
}

const engine: StoreUnderTest = {
  open: () => openIn(mkdtempSync(join(tmpdir(), 'clusterpass-conformance-'))),
  async reopen(store) {
    await store.close();
    return openIn(directories.get(store) ?? '');
  },
  async seedRevision(store, revision) {
    await store.close();
    const directory = directories.get(store) ?? '';
    seedSqliteRevision(join(directory, 'store.db'), revision);
    return openIn(directory);
  },
  async destroy(store) {
    await store.close();
    rmSync(directories.get(store) ?? '', { recursive: true });
  },
};

storeConformance('SQLite', engine);
importConformance('SQLite', engine);

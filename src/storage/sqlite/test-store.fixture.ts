import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Store } from '../contract.ts';
import { openSqliteStore } from './sqlite-store.ts';

/** The file of a database that does not exist yet. */
export const newDatabase = (): string => join(mkdtempSync(join(tmpdir(), 'clusterpass-store-')), 'test.db');

/** A store in a new database, until the end of the test. */
export async function openTestStore(): Promise<Store> {
  const store = await openSqliteStore({ file: newDatabase() });
  onTestFinished(() => store.close());
  return store;
}

/** A second process, for sqlite-file.test.ts: tries to open a store and prints the result. */
import { StorageError } from '../../src/storage/contract.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';

try {
  const store = await openSqliteStore({ file: process.argv[2] ?? '' });
  await store.close();
  console.log(JSON.stringify({ opened: true }));
} catch (error) {
  if (!(error instanceof StorageError)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}

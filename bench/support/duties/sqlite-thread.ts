/** A thread that stores the rows of each message in one transaction, and answers with the last revision. */
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../../../src/storage/sqlite/database.ts';

export interface RowsMessage {
  readonly keys: readonly string[];
  /** Bytes of `values` that belong to each key. */
  readonly sizes: readonly number[];
  readonly values: Uint8Array<ArrayBuffer>;
}

const db = openDatabase((workerData as { file: string }).file);
const insert = db.prepare('INSERT INTO log (revision, key, created, value) VALUES (?, ?, ?, ?)');
let revision = 1;

parentPort?.on('message', ({ keys, sizes, values }: RowsMessage) => {
  let offset = 0;
  db.exec('BEGIN IMMEDIATE');
  for (const [at, key] of keys.entries()) {
    const size = sizes[at] ?? 0;
    revision += 1;
    insert.run(revision, key, revision, values.subarray(offset, offset + size));
    offset += size;
  }
  db.exec('COMMIT');
  parentPort?.postMessage(revision);
});

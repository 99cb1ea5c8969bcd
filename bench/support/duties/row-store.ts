import { Worker } from 'node:worker_threads';
import { openDatabase } from '../../../src/storage/sqlite/database.ts';
import { packValues } from '../../../src/storage/sqlite/database-methods.ts';
import type { RowsMessage } from './sqlite-thread.ts';

export interface Row {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly onStored: (revision: number) => void;
}

/** Durable rows. */
interface RowStore {
  add(row: Row): void;
}

/** As the floor of `npm run bench -- write`: all rows of one tick of the event loop share a transaction. */
export function storeOnMainThread(file: string): RowStore {
  const db = openDatabase(file);
  const insert = db.prepare('INSERT INTO log (revision, key, created, value) VALUES (?, ?, ?, ?)');
  let revision = 1;
  let pending: Row[] = [];
  const commit = (): void => {
    const rows = pending;
    pending = [];
    const first = revision + 1;
    db.exec('BEGIN IMMEDIATE');
    for (const { key, bytes } of rows) {
      revision += 1;
      insert.run(revision, key, revision, bytes);
    }
    db.exec('COMMIT');
    for (const [at, { onStored }] of rows.entries()) onStored(first + at);
  };
  return {
    add(row) {
      if (pending.length === 0) setImmediate(commit);
      pending.push(row);
    },
  };
}

/** Duty: a sync of the disk does not block the event loop. Rows that arrive during a commit share the next one. */
export function storeInThread(file: string): RowStore {
  const worker = new Worker(new URL('sqlite-thread.ts', import.meta.url), {
    workerData: { file },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  worker.on('error', (error) => {
    throw error;
  });
  let pending: Row[] = [];
  let sent: readonly Row[] = [];
  let isScheduled = false;
  const send = (): void => {
    isScheduled = false;
    if (pending.length === 0) return;
    sent = pending;
    pending = [];
    const values = packValues(sent.map(({ bytes }) => bytes));
    const sizes = sent.map(({ bytes }) => bytes.length);
    const message: RowsMessage = { keys: sent.map(({ key }) => key), sizes, values };
    worker.postMessage(message, [values.buffer]);
  };
  worker.on('message', (last: number) => {
    const rows = sent;
    sent = [];
    for (const [at, { onStored }] of rows.entries()) onStored(last - rows.length + 1 + at);
    isScheduled = true;
    // Two ticks, as in Clusterpass: by the second, most writers have sent their next row.
    setImmediate(() => setImmediate(send));
  });
  return {
    add(row) {
      pending.push(row);
      if (isScheduled || sent.length > 0) return;
      isScheduled = true;
      setImmediate(send);
    },
  };
}

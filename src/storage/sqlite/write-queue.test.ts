import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endOfTick } from '../../lib/event-loop.ts';
import type { Revision, StorageError } from '../contract.ts';
import type { WriteFailure } from './database-methods.ts';
import { type DatabaseThread, startDatabase } from './database-thread.ts';
import { WriteQueue } from './write-queue.ts';

describe('WriteQueue', () => {
  let folder: string;
  let queue: WriteQueue;
  let database: DatabaseThread;
  let thread: Worker;
  /** How many writes each transaction had. */
  const transactions: number[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-channel-'));
    transactions.length = 0;
    process.once('worker', (started: Worker) => {
      thread = started;
    });
    database = await startDatabase(
      { file: join(folder, 'a.db'), maxBytes: undefined, existing: false, restoresBackup: false },
      { noBackups: () => {}, died: () => {} },
    );
    queue = new WriteQueue(database.rpc, (writes) => transactions.push(writes.length), {
      writes: 6_000,
      bytes: 10_000,
    });
  });

  afterEach(() => database.close());

  const write = (key: string, size = 1): Promise<Revision | WriteFailure> =>
    new Promise((resolve, reject) => {
      const value = new Uint8Array(size);
      queue.write({ write: { key, value, expect: { absent: true } }, resolve, reject });
    });

  it('writers that started apart share transactions from the second on, though each writes again one tick later', async () => {
    const writer = async (name: string): Promise<void> => {
      for (let count = 0; count < 5; count++) {
        await write(`/${name}/${count}`);
        // The client gets its response and sends the next request.
        await nextTick();
      }
    };
    const first = writer('a');
    // The first transaction is running: later writes wait for its end.
    await nextTick();
    await Promise.all([first, writer('b'), writer('c')]);
    expect(transactions).toEqual([1, 3, 3, 3, 3, 2]);
  });

  it('if the thread ends, writes that were sent to it have an unknown outcome, and those that wait have not happened', async () => {
    const sent = Array.from({ length: 5_000 }, (_, i) => write(`/sent/${i}`));
    // In the tick in which the writes are sent: so many are not done by then.
    const waiting = new Promise((resolve) => {
      endOfTick.work(() => {
        resolve(write('/waits').catch((error: StorageError) => error.code));
        void thread.terminate();
      });
    });
    const outcomes = await Promise.allSettled(sent);
    const codes = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'done'));
    expect([...new Set(codes)]).toEqual(['unknown-outcome']);
    expect(await waiting).toBe('unavailable');
  });

  it.each([
    ['writes', 6_000, 1],
    ['bytes of values', 2, 5_000],
  ])(
    'B32: while too many %s wait for the disk, further writes are refused and do not happen',
    async (_, count, size) => {
      const waiting = Array.from({ length: count }, (_, i) => write(`/waits/${i}`, size));
      const refused = Array.from({ length: 3 }, () =>
        write('/refused', size).catch((error: StorageError) => error.code),
      );
      expect(await Promise.all(refused)).toEqual(['unavailable', 'unavailable', 'unavailable']);
      const revisions = await Promise.all(waiting);
      // The limit is of those that wait: these have been written.
      expect(await write('/refused', size)).toBe(Number(revisions.at(-1)) + 1);
    },
  );
});

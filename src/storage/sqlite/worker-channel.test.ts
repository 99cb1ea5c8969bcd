import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Revision } from '../contract.ts';
import { WorkerChannel } from './worker-channel.ts';
import type { WriteFailure } from './worker-protocol.ts';

describe('WorkerChannel', () => {
  let folder: string;
  let channel: WorkerChannel;
  /** How many writes each transaction had. */
  const transactions: number[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-channel-'));
    const events = { written: (writes: readonly unknown[]) => void transactions.push(writes.length), died: () => {} };
    transactions.length = 0;
    ({ channel } = await WorkerChannel.open(
      { file: join(folder, 'a.db'), maxBytes: undefined, restoresBackup: false },
      events,
    ));
  });

  afterEach(async () => {
    await channel.close();
    await rm(folder, { recursive: true });
  });

  const write = (key: string): Promise<Revision | WriteFailure> =>
    new Promise((resolve, reject) => {
      const value = new Uint8Array([1]);
      channel.write({ write: { key, value, expect: { absent: true } }, resolve, reject });
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
});

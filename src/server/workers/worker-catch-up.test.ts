import type { Worker } from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../storage/contract.ts';
import { Freshness } from '../../storage/freshness.ts';
import { RevisionWaiters } from '../../storage/revision-waiters.ts';
import { openSqliteStore } from '../../storage/sqlite/sqlite-store.ts';
import { joinSiblings, type Siblings, WorkerCatchUp } from './worker-catch-up.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

/** The channel of a worker, within one process: messages are serialized and arrive in a later tick, in order. */
class Channel extends EventEmitter {
  readonly inWorker = new EventEmitter();
  #connected = true;

  isConnected(): boolean {
    return this.#connected;
  }

  toPrimary = (message: FromWorker): void => this.#deliver(this, message);
  toWorker = (message: ToWorker): void => this.#deliver(this.inWorker, message);

  exit(): void {
    this.#connected = false;
    this.emit('exit');
  }

  #deliver(receiver: EventEmitter, message: unknown): void {
    const sent = serialize(message);
    setImmediate(() => {
      if (this.#connected) receiver.emit('message', deserialize(sent));
    });
  }
}

interface Process {
  readonly channel: Channel;
  readonly siblings: Siblings;
  /** What it has applied of the store. */
  readonly position: RevisionWaiters;
}

const someTicks = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await tick();
};

describe('B30: a write of one worker', () => {
  let directory: string;
  let store: Store;
  let primary: WorkerCatchUp;
  let maxMs: number;
  let keys: number;
  const setMaxMs = (ms: number): void => {
    maxMs = ms;
    primary = new WorkerCatchUp((channel, message) => (channel as unknown as Channel).toWorker(message), ms);
  };
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'clusterpass-workers-'));
    store = await openSqliteStore({ file: join(directory, 'store.db') });
    setMaxMs(60_000);
    keys = 0;
  });
  afterEach(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  async function start({ decides = true } = {}): Promise<Process> {
    const channel = new Channel();
    primary.add(channel as unknown as Worker);
    const siblings = joinSiblings(channel.inWorker as never, channel.toPrimary, maxMs);
    const position = new RevisionWaiters();
    position.moveTo(await store.revision());
    if (decides) await siblings.decideFrom(new Freshness({ store, parts: [position] }));
    return { channel, siblings, position };
  }
  /** Resolves with how many of the others had applied the write when it was acknowledged. */
  async function write({ siblings }: Process, others: readonly Process[]): Promise<number> {
    const key = `/registry/a/${keys++}`;
    const { ok, revision } = await siblings.withCatchUp(store).write({
      key,
      value: Buffer.from('x'),
      expect: { absent: true },
    });
    expect(ok).toBe(true);
    return others.filter(({ position }) => position.revision >= revision).length;
  }

  it('is acknowledged when every other worker acts on it', async () => {
    const [first, ...others] = [await start(), await start(), await start()];
    const before = await store.revision();
    const written = write(first, others);
    await expect.poll(() => store.revision()).toBe(before + 1);
    await someTicks();
    others[0]?.position.moveTo(before + 1);
    await someTicks();
    others[1]?.position.moveTo(before + 1);
    expect(await written).toBe(2);
  });

  it('does not wait for a worker that has exited, or that does not serve yet', async () => {
    const [first, dying] = [await start(), await start(), await start({ decides: false })];
    const written = write(first, []);
    await someTicks();
    dying.channel.exit();
    await written;
  });

  it('does not wait longer than a worker may decide from memory without a proof', async () => {
    setMaxMs(10);
    const [first, hanging] = [await start(), await start()];
    expect(await write(first, [hanging])).toBe(0);
  });

  it('is included in what a worker begins to decide from', async () => {
    const first = await start();
    const second = await start({ decides: false });
    await write(first, []);
    first.position.moveTo(await store.revision());
    const begun = second.siblings.decideFrom(new Freshness({ store, parts: [second.position] }));
    let decides = false;
    void begun.then(() => {
      decides = true;
    });
    await once(second.channel.inWorker, 'message');
    await someTicks();
    expect(decides).toBe(false);
    second.position.moveTo(await store.revision());
    await begun;
  });
});

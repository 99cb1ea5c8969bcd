import { EventEmitter, once } from 'node:events';
import { setImmediate as tick } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Port, Rpc } from '../../lib/worker-rpc.ts';
import type { Store } from '../../storage/contract.ts';
import { Freshness } from '../../storage/freshness.ts';
import { measuredStore } from '../../storage/measured-store.ts';
import { RevisionWaiters } from '../../storage/revision-waiters.ts';
import { openTestStore } from '../../storage/sqlite/test-store.fixture.ts';
import { Siblings, WorkerCatchUp } from './worker-catch-up.ts';

/** The channel of a worker, within one process: messages are serialized and arrive in a later tick, in order. */
class Channel {
  readonly inPrimary = new EventEmitter();
  readonly inWorker = new EventEmitter();
  #connected = true;

  end(own: EventEmitter, other: EventEmitter): Port {
    return {
      post: (messages) => {
        const sent = serialize(messages);
        setImmediate(() => {
          if (this.#connected) other.emit('message', deserialize(sent));
        });
      },
      onMessages: (listener) => void own.on('message', listener),
      onClose: (listener) => void own.on('exit', listener),
    };
  }

  exit(): void {
    this.#connected = false;
    this.inPrimary.emit('exit');
  }
}

const lost = (): Error => new Error('the other process has ended');

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
  let store: Store;
  let primary: WorkerCatchUp;
  let maxMs: number;
  let keys: number;
  const setMaxMs = (ms: number): void => {
    maxMs = ms;
    primary = new WorkerCatchUp(ms);
  };
  beforeEach(async () => {
    store = await openTestStore();
    setMaxMs(60_000);
    keys = 0;
  });

  async function start({ decides = true, reads = (): Pick<Store, 'revision'> => store } = {}): Promise<Process> {
    const channel = new Channel();
    const { inPrimary, inWorker } = channel;
    const toWorker = new Rpc<Siblings['methods']>(channel.end(inPrimary, inWorker), { lost });
    toWorker.serve(primary.methodsFor(toWorker));
    const toPrimary = new Rpc<ReturnType<WorkerCatchUp['methodsFor']>>(channel.end(inWorker, inPrimary), { lost });
    const siblings = new Siblings(toPrimary, maxMs);
    toPrimary.serve(siblings.methods);
    const position = new RevisionWaiters();
    position.moveTo(await store.revision());
    if (decides) {
      const revision = (): Promise<number> => reads().revision();
      await siblings.decideFrom(new Freshness({ store: { revision }, parts: [position] }));
    }
    return { channel, siblings, position };
  }
  /** Resolves with how many of the others had applied the write when it was acknowledged. */
  async function write({ siblings }: Process, others: readonly Process[]): Promise<number> {
    const key = `/registry/a/${keys++}`;
    const { ok, revision } = await measuredStore(store, () => {}, siblings.afterWrite).write({
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

  it('waits for a worker that cannot read the store: its last proof is new enough to decide by', async () => {
    const refusing = { revision: () => Promise.reject(new Error('refused')) };
    let isRefused = false;
    const first = await start();
    const refused = await start({ reads: () => (isRefused ? refusing : store) });
    isRefused = true;
    const before = await store.revision();
    let isAcknowledged = false;
    const written = write(first, []).finally(() => {
      isAcknowledged = true;
    });
    await expect.poll(() => store.revision()).toBe(before + 1);
    await someTicks();
    expect(isAcknowledged).toBe(false);
    refused.channel.exit();
    await written;
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

import { setTimeout as delay } from 'node:timers/promises';
import { COMPACTION_KEY, type Revision, type Store } from './contract.ts';
import { type Leadership, soleLeadership } from './leadership.ts';

export interface CompactorClock {
  /** Milliseconds that only ever grow: a wall clock that is set forward would end retention early. */
  now(): number;
  /** Resolves after that time; rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const systemCompactorClock: CompactorClock = {
  now: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, { signal, ref: false });
  },
};

export interface CompactorOptions {
  readonly store: Pick<Store, 'revision' | 'compactedRevision' | 'compact' | 'get' | 'write'>;
  readonly clock?: CompactorClock;
  /** Of several processes with one store, one compacts. Default: always this one. */
  readonly leadership?: Pick<Leadership, 'leads' | 'fence'>;
  /** Nothing younger than this is forgotten. Default: five minutes, as kube-apiserver does. */
  readonly retainMs?: number;
  /** Nor any of the newest so many revisions, however old. Default: 10,000. */
  readonly retainRevisions?: number;
  /** Default: one minute. As much as is written in it may be kept beyond what must be. */
  readonly intervalMs?: number;
  readonly logger?: { warn(fields: object, message: string): void };
}

export interface Compactor {
  /** Resolves when a compaction that is under way has ended. */
  stop(): Promise<void>;
}

/**
 * Keeps the history of any store short. The store does not know when a revision was written; this asks for the
 * revision once in an interval and remembers the time of the answer, which is no older than the revision.
 */
export function startCompactor({
  store,
  clock = systemCompactorClock,
  leadership = soleLeadership,
  retainMs = 5 * 60_000,
  retainRevisions = 10_000,
  intervalMs = 60_000,
  logger,
}: CompactorOptions): Compactor {
  const stopping = new AbortController();
  let samples: { readonly at: number; readonly revision: Revision }[] = [];

  async function round(): Promise<void> {
    const revision = await store.revision();
    const at = clock.now();
    samples.push({ at, revision });
    // The newest sample that is old enough; those before it have no further use.
    const old = samples.findLastIndex((sample) => sample.at <= at - retainMs);
    if (old === -1) return;
    samples = samples.slice(old);
    // Who does not lead watches the time all the same, and can take over without a gap.
    if (!leadership.leads()) return;
    const target = Math.min(samples[0]?.revision ?? 0, revision - retainRevisions);
    if (target <= (await store.compactedRevision()) + 1) return;
    if (await decided(target)) await store.compact(target);
  }

  /**
   * A compaction itself can not carry a guard, so the decision is written down first, and only the leader can. One that
   * falls asleep between the two forgets, whenever it wakes up, no more than it was entitled to as the leader: what was
   * old enough then is older now.
   */
  async function decided(target: Revision): Promise<boolean> {
    const fence = leadership.fence();
    if (fence === undefined) return leadership.leads();
    const before = await store.get(COMPACTION_KEY);
    const { ok } = await store.write({
      key: COMPACTION_KEY,
      value: Buffer.from(`${target}`),
      expect: before === undefined ? { absent: true } : { modRevision: before.modRevision },
      guards: [fence],
    });
    return ok;
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await round();
      } catch (error) {
        // One that fails must not be the last: the next one does its work as well.
        if (!stopping.signal.aborted) logger?.warn({ err: error }, 'compaction failed; it is tried again');
      }
      await clock.sleep(intervalMs, stopping.signal).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

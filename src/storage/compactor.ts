import { pause, type Timing } from '../lib/backoff.ts';
import { type Leadership, type Revision, type Store, soleLeadership } from './contract.ts';

/** Monotonic: a wall clock that is set forward would end the retention early. */
const CLOCK: Pick<Timing, 'now' | 'pause'> = {
  now: () => performance.now(),
  pause: (ms, signal) => pause(ms, { signal, ref: false }),
};

interface CompactorOptions {
  readonly store: Pick<Store, 'revision' | 'compact'>;
  readonly clock?: typeof CLOCK;
  /** Only the leader compacts. Default: this process is the leader. */
  readonly leadership?: Pick<Leadership, 'leads'>;
  /** Revisions younger than this are kept. */
  readonly retainMs: number;
  /** The newest revisions are kept, however old. */
  readonly retainRevisions: number;
  /** Revisions are kept up to this much longer. */
  readonly intervalMs: number;
  readonly logger?: { warn(fields: object, message: string): void };
}

/**
 * Compacts any store at an interval. A store does not know when a revision was written, so this samples the revision at
 * each interval with the time of the sample, which is never earlier than the write.
 */
export function startCompactor({
  store,
  clock = CLOCK,
  leadership = soleLeadership,
  retainMs,
  retainRevisions,
  intervalMs,
  logger,
}: CompactorOptions) {
  const stopping = new AbortController();
  /** By this process. There are no states before the first revision. */
  let compacted: Revision = 1;
  let samples: { readonly at: number; readonly revision: Revision }[] = [];

  async function round(): Promise<void> {
    const revision = await store.revision();
    const at = clock.now();
    samples.push({ at, revision });
    // The newest sample that is old enough; the samples before it are dropped.
    const old = samples.findLastIndex((sample) => sample.at <= at - retainMs);
    if (old === -1) return;
    samples = samples.slice(old);
    // A process that does not lead takes samples too, so that it can take over without a gap.
    if (!leadership.leads()) return;
    const target = Math.min(samples[0]?.revision ?? 0, revision - retainRevisions);
    if (target <= compacted) return;
    // Without a guard: what was old enough for a leader that has been suspended since is still old enough.
    await store.compact(target);
    compacted = target;
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await round();
      } catch (error) {
        // The next compaction does the work of this one too.
        if (!stopping.signal.aborted) logger?.warn({ err: error }, 'compaction failed; it is tried again');
      }
      await clock.pause(intervalMs, stopping.signal);
    }
  }

  const running = run();
  return {
    /** Resolves when a running compaction has ended. */
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

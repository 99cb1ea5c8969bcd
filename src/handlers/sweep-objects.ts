import type { Kind } from '../api/kind.ts';
import { kindPrefix } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { Logger } from '../observability/logger.ts';
import type { Leadership } from '../storage/leadership.ts';

export interface Sweep<Step> {
  readonly reader: Pick<ObjectReader, 'cache' | 'ready'>;
  readonly kind: Kind;
  /** See ClockGuard: epoch milliseconds, and -Infinity while nothing may be ended by the clock. */
  readonly removalTime: () => number;
  /** What is due for an object; undefined if nothing is. */
  readonly stepFor: (entry: StoredObject, time: number) => Step | undefined;
  readonly perform: (entry: StoredObject, step: Step, time: number) => Promise<void>;
}

/** In one call. */
const MAX_CHANGED = 64;

/** Performs what is due for the objects of a kind. */
export async function sweepObjects<Step>(sweep: Sweep<Step>): Promise<void> {
  const { reader, kind } = sweep;
  const time = sweep.removalTime();
  if (!reader.ready || time === Number.NEGATIVE_INFINITY) return;
  let changed = 0;
  for (const entry of reader.cache(kind).current.copy().scan(kindPrefix(kind))) {
    const step = sweep.stepFor(entry, time);
    if (step === undefined) continue;
    if (++changed > MAX_CHANGED) return;
    await sweep.perform(entry, step, time).catch((error: unknown) => {
      // Written by others: the next call decides again.
      if (!(error instanceof ApiError && [404, 409].includes(error.status.code))) throw error;
    });
  }
}

/** Whether a timestamp is in the past. One that cannot be read is. */
export const hasPassed = (timestamp: string, now: number): boolean => !(Date.parse(timestamp) > now);

export interface SweepTimer {
  readonly every: (ms: number, act: () => void) => () => void;
  /** The leader sweeps, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads'>;
  readonly logger: Pick<Logger, 'warn'>;
}

const SWEEP_MS = 1_000;

/** Runs the sweep every second while this replica leads, one at a time. `onFailure` is the text of the log. */
export function startSweep(
  { every, leadership, logger }: SweepTimer,
  sweep: () => Promise<void>,
  onFailure: string,
): () => Promise<void> {
  let running: Promise<void> | undefined;
  const stop = every(SWEEP_MS, () => {
    if (!leadership.leads()) return;
    running ??= sweep()
      .catch((error: unknown) => logger.warn({ err: error }, onFailure))
      .finally(() => {
        running = undefined;
      });
  });
  return async () => {
    stop();
    await running;
  };
}

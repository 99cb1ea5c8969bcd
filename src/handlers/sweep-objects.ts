import type { Kind } from '../api/kind.ts';
import { kindPrefix } from '../api/object-key.ts';
import { createFailureReports } from '../objects/failure-reports.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { Logger } from '../observability/logger.ts';
import type { Snapshot } from '../storage/snapshot.ts';

interface Sweep<Step> {
  readonly reader: Pick<ObjectReader, 'cache' | 'ready'>;
  readonly kind: Kind;
  readonly logger: Pick<Logger, 'warn'>;
  /** See ClockGuard: epoch milliseconds, and -Infinity while nothing may be ended by the clock. */
  readonly removalTime: () => number;
  /** Epoch milliseconds, for timestamps. */
  readonly now: () => number;
  /**
   * What is due for an object; undefined if nothing is. `time` is the removal time: at -Infinity only what does not
   * depend on the time is due.
   */
  readonly stepFor: (entry: StoredObject, time: number) => Step | undefined;
  readonly perform: (entry: StoredObject, step: Step, now: number) => Promise<void>;
}

/** In one call. */
const MAX_CHANGED = 64;

/**
 * Performs what is due for the objects of a kind. An object that fails does not stop the others: a call that ends early
 * is continued by the next one behind its last object.
 */
export function createObjectSweep<Step>(sweep: Sweep<Step>): () => Promise<void> {
  const { reader, kind } = sweep;
  const prefix = kindPrefix(kind);
  const reportFailure = createFailureReports(sweep.logger);
  /** The key of the last object of a call that ended early. */
  let position: string | undefined;

  return async () => {
    const time = sweep.removalTime();
    if (!reader.ready) return;
    const after = position;
    position = undefined;
    let changed = 0;
    for (const entry of allFrom(reader.cache(kind).current.copy(), prefix, after)) {
      try {
        const step = sweep.stepFor(entry, time);
        if (step === undefined) continue;
        if (++changed > MAX_CHANGED) return;
        position = entry.key;
        await sweep.perform(entry, step, sweep.now());
      } catch (error) {
        reportFailure(entry, error);
      }
    }
    position = undefined;
  };
}

/** Every entry once, beginning behind a key. */
function* allFrom(
  snapshot: Snapshot<StoredObject>,
  prefix: string,
  after: string | undefined,
): Generator<StoredObject> {
  yield* snapshot.scan(prefix, after);
  if (after === undefined) return;
  for (const entry of snapshot.scan(prefix)) {
    if (entry.key > after) return;
    yield entry;
  }
}

/** Whether a timestamp is in the past. One that cannot be read is. At -Infinity none is: no clock is trusted. */
export const hasPassed = (timestamp: string, time: number): boolean =>
  time !== Number.NEGATIVE_INFINITY && !(Date.parse(timestamp) > time);

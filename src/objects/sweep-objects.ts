import { type Kind, kindPrefix } from '../api/kind.ts';
import { ApiError } from '../api/status.ts';
import { Cache } from '../lib/cache.ts';
import { createRounds } from '../lib/rounds.ts';
import type { Logger } from '../observability/logger.ts';
import type { Leadership } from '../storage/contract.ts';
import type { ObjectReader } from './reader.ts';
import { storageErrorIn } from './storage-errors.ts';
import type { StoredObject } from './stored-object.ts';

interface Sweep<Step> {
  readonly reader: Pick<ObjectReader, 'cache' | 'ready'>;
  readonly kind: Kind;
  readonly logger: Pick<Logger, 'warn'>;
  /** See ClockGuard: epoch milliseconds, and -Infinity while nothing may be ended by the clock. */
  readonly removalTime: () => number;
  /** Whether anything can become due for this version of an object. Default: for all. */
  readonly concerns?: (entry: StoredObject) => boolean;
  /**
   * What is due for an object; undefined if nothing is. `time` is the removal time: at -Infinity only what does not
   * depend on the time is due.
   */
  readonly stepFor: (entry: StoredObject, time: number) => Step | undefined;
  readonly perform: (entry: StoredObject, step: Step) => Promise<void>;
}

/** In one call. */
const MAX_CHANGED = 250;

/**
 * Performs what is due for the objects of a kind. An object that fails does not stop the others: a call that ends early
 * is continued by the next one behind its last object.
 */
export function createObjectSweep<Step>(sweep: Sweep<Step>): () => Promise<void> {
  const { reader, kind, concerns = () => true } = sweep;
  const reportFailure = createFailureReports(sweep.logger);
  let entries: readonly StoredObject[] = [];
  /** The last event of the kind when they were read. Most calls follow no change. */
  let seen: number | undefined;
  /** The key of the last object of a call that ended early. */
  let position: string | undefined;

  return async () => {
    const time = sweep.removalTime();
    if (!reader.ready) return;
    const { current, lastEventRevision } = reader.cache(kind);
    if (lastEventRevision !== seen) entries = [...current.scan(kindPrefix(kind))].filter(concerns);
    seen = lastEventRevision;
    const after = position;
    const first = after === undefined ? 0 : entries.findIndex(({ key }) => key > after);
    position = undefined;
    let changed = 0;
    for (const entry of first > 0 ? [...entries.slice(first), ...entries.slice(0, first)] : entries) {
      try {
        const step = sweep.stepFor(entry, time);
        if (step === undefined) continue;
        if (++changed > MAX_CHANGED) return;
        position = entry.key;
        await sweep.perform(entry, step);
      } catch (error) {
        reportFailure(entry, error);
      }
    }
    position = undefined;
  };
}

/** Failures of more objects than these are logged again. */
const MAX_REPORTED = 1_000;

/**
 * Logs the failure of an object, once for each of its versions. Throws an error of the store that the other objects
 * would meet, too.
 */
function createFailureReports(logger: Pick<Logger, 'warn'>): (entry: StoredObject, error: unknown) => void {
  const reported = new Cache<string, number>({ maxEntries: MAX_REPORTED });
  return (entry, error) => {
    // Written by others: the next call decides again.
    if (error instanceof ApiError && [404, 409].includes(error.status.code)) return;
    const code = storageErrorIn(error)?.code;
    if (code !== undefined && code !== 'too-large' && code !== 'unreadable') throw error;
    const { key, revision, kind, namespace, name } = entry;
    if (reported.get(key) === revision) return;
    reported.set(key, revision);
    logger.warn({ err: error, resource: kind.resource, namespace, name }, 'an object could not be swept');
  };
}

/** Whether a timestamp is in the past. One that cannot be read is. At -Infinity none is: no clock is trusted. */
export const hasPassed = (timestamp: string, time: number): boolean =>
  time !== Number.NEGATIVE_INFINITY && !(Date.parse(timestamp) > time);

export interface SweepTimer {
  readonly every: (ms: number, act: () => void) => () => void;
  /** The leader sweeps, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Runs the sweep at an interval while this replica leads. `onFailure` is the text of the log. */
export function startSweep(
  { every, leadership, logger }: SweepTimer,
  sweep: () => Promise<void>,
  onFailure: string,
  sweepMs = 1_000,
): () => Promise<void> {
  const rounds = createRounds(sweep, (error) => logger.warn({ err: error }, onFailure));
  const stop = every(sweepMs, () => {
    if (leadership.leads()) rounds.start();
  });
  return async () => {
    stop();
    await rounds.ended();
  };
}

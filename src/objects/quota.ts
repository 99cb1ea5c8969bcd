import { type QuotaName, quotaExceeded } from '../api/quotas.ts';
import type { ApiError, StatusCause } from '../api/status.ts';
import { InFlightCounts } from '../lib/in-flight-counts.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { Work } from '../lib/work-queue.ts';
import { createdBefore, type StoredObject } from './stored-object.ts';

/** How many objects may be stored for one flow, as a creation asks for it. */
export interface Quota {
  readonly pending: PendingCreations;
  /** For whom the object counts. */
  readonly key: string;
  /**
   * Why there is no room beside the objects that were created before this revision and `writing`, the number of those
   * that may be created soon; undefined if there is room.
   */
  readonly refusal: (revision: number, writing: number) => ApiError | undefined;
}

/** At most `max` of the objects that count. */
export interface Limit {
  readonly quota: QuotaName;
  readonly max: number;
  readonly counts: (entry: StoredObject) => boolean;
  /** With the number: `10 open access requests`. */
  readonly what: string;
  /** How to get room: `withdraw some`. */
  readonly advice: string;
  /** When an object no longer counts, in epoch milliseconds; NaN if that is not known. */
  readonly endOf: (entry: StoredObject) => number;
  readonly causes?: readonly StatusCause[];
}

interface FlowQuota extends Pick<Quota, 'pending' | 'key'> {
  /** With the verb: `User "jane" has`. */
  readonly who: string;
  readonly stored: () => Iterable<StoredObject>;
  readonly limits: readonly Limit[];
  readonly now: () => number;
}

/** Counted in the watch cache, so all replicas count the same objects. */
export const quotaOf = ({ pending, key, who, stored, limits, now }: FlowQuota): Quota => ({
  pending,
  key,
  refusal: (revision, writing) => {
    const before = [...stored()].filter(createdBefore(revision));
    for (const limit of limits) {
      const counted = before.filter(limit.counts);
      if (counted.length + writing >= limit.max) return refusalOf(limit, who, counted, now());
    }
    return undefined;
  },
});

function refusalOf(
  { quota, what, advice, endOf, causes }: Limit,
  who: string,
  counted: readonly StoredObject[],
  now: number,
): ApiError {
  const first = counted
    .map(endOf)
    .filter((end) => end > now)
    .reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const wait = Number.isFinite(first) ? `, or wait until ${toTimestamp(first)} when the first of them ends` : '';
  const why = `${who} ${what}, the most that one caller may have: ${advice}${wait}`;
  return quotaExceeded(quota, why, first - now, causes);
}

/**
 * The creations of this process under one quota. As many are written in the same moment as there is room for; the
 * others wait for them. They are refused by what is stored then, because a write may fail.
 */
export class PendingCreations {
  readonly #inFlight = new InFlightCounts();

  /** Calls `create` as soon as it is known whether there is room: with the refusal if there is none. */
  async run<T>(
    { key, refusal }: Quota,
    create: (refused: ApiError | undefined) => Promise<T>,
    work: Work | undefined,
  ): Promise<T> {
    while (refusal(Number.POSITIVE_INFINITY, this.#inFlight.of(key)) !== undefined) {
      const refused = refusal(Number.POSITIVE_INFINITY, 0);
      if (refused !== undefined) return create(refused);
      await this.#inFlight.released(key);
      // All that wait are told at once, and a check reads up to a thousand objects.
      while (work?.isUsedUp) await work.turn();
    }
    const release = this.#inFlight.add(key);
    return create(undefined).finally(release);
  }
}

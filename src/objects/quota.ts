import type { ApiError } from '../api/status.ts';
import { InFlightCounts } from '../lib/in-flight-counts.ts';
import type { Work } from '../lib/work-queue.ts';

/** How many objects may be stored for one caller, as a creation asks for it. */
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

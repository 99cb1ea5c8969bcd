import { atRevision, BEGINNING, compareMoments, type PolicyMoment } from '../../api/visibility.ts';

/** Far more than `MAX_INTERVALS` of one watch. */
const MAX_MOMENTS = 1_000;

/** The moments of the policy changes, as far back as they are known. */
export class PolicyMoments {
  /** Those after `#knownFrom`, in order. */
  #moments: PolicyMoment[] = [];
  #knownFrom = BEGINNING;

  add(moment: PolicyMoment): void {
    this.#moments.push(moment);
    // Old ones are dropped in bulk: removing them one by one would copy the array each time.
    const surplus = this.#moments.length - MAX_MOMENTS;
    if (surplus < MAX_MOMENTS / 4) return;
    this.#knownFrom = this.#moments[surplus - 1] ?? moment;
    this.#moments = this.#moments.slice(surplus);
  }

  /** Those after one revision, up to another; undefined when they are no longer known. */
  between(after: number, upTo: number): readonly PolicyMoment[] | undefined {
    const start = atRevision(after);
    if (compareMoments(start, this.#knownFrom) < 0) return undefined;
    // A change just after `upTo` has happened: the next event is not there yet.
    return this.#moments.filter((moment) => compareMoments(moment, start) > 0 && moment.revision <= upTo);
  }

  /** The changes before this revision are not known. */
  reset(revision: number): void {
    this.#moments = [];
    this.#knownFrom = atRevision(revision);
  }
}

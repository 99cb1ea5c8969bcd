/** Far more than `MAX_INTERVALS` of one watch. */
const MAX_REVISIONS = 1_000;

/** The revisions of the policy changes, as far back as they are known. */
export class PolicyRevisions {
  /** Those after `#knownFrom`, in order. */
  #revisions: number[] = [];
  #knownFrom = 0;

  add(revision: number): void {
    this.#revisions.push(revision);
    // Old revisions are dropped in bulk: removing them one by one would copy the array each time.
    const surplus = this.#revisions.length - MAX_REVISIONS;
    if (surplus < MAX_REVISIONS / 4) return;
    this.#knownFrom = this.#revisions[surplus - 1] ?? revision;
    this.#revisions = this.#revisions.slice(surplus);
  }

  /** Those after one revision, up to another; undefined when they are no longer known. */
  between(after: number, upTo: number): readonly number[] | undefined {
    if (after < this.#knownFrom) return undefined;
    // A change just after `upTo` has happened: the next event is not there yet.
    return this.#revisions.filter((revision) => revision > after && Math.floor(revision) <= upTo);
  }

  /** The changes before this revision are not known. */
  reset(revision: number): void {
    this.#revisions = [];
    this.#knownFrom = revision;
  }
}

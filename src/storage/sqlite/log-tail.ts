import type { Change, Revision, WatchBatch } from '../contract.ts';
import { RevisionWaiters } from '../revision-waiters.ts';

/** Of the changes in memory. */
export interface TailLimits {
  readonly changes: number;
  readonly bytes: number;
}

/** More than commits between two ticks of the event loop, in which every watch takes what is new. */
const LIMITS: TailLimits = { changes: 1_000, bytes: 4 * 1024 * 1024 };

/** The end of the log, in memory: the last changes, for all watches that are not further behind. */
export class LogTail extends RevisionWaiters {
  readonly #limits: TailLimits;
  /** All changes after the revision `#since`. */
  #changes: Change[] = [];
  #bytes = 0;
  #since: Revision;

  constructor(revision: Revision, limits: TailLimits = LIMITS) {
    super();
    this.#limits = limits;
    this.#since = revision;
    this.moveTo(revision);
  }

  append(changes: readonly Change[], revision: Revision): void {
    if (this.#changes.length >= this.#limits.changes || this.#bytes >= this.#limits.bytes) this.#forget(this.revision);
    for (const change of changes) {
      this.#changes.push(change);
      this.#bytes += change.type === 'put' ? change.value.byteLength : 0;
    }
    this.moveTo(revision);
  }

  /** The store has advanced by unknown changes: all watches have to read them from the log. */
  skipTo(revision: Revision): void {
    this.#forget(revision);
    this.moveTo(revision);
  }

  /** A watch from an older revision has to fail, as in the log. */
  compact(oldest: Revision): void {
    this.#since = Math.max(this.#since, oldest);
  }

  /** The changes after a revision; undefined for a watch that has to read the log. */
  after(position: Revision, prefix: string): WatchBatch | undefined {
    if (position < this.#since || position >= this.revision) return undefined;
    const first = this.#changes.findLastIndex(({ modRevision }) => modRevision <= position) + 1;
    const changes = this.#changes.slice(first).filter(({ key }) => key.startsWith(prefix));
    return { changes, revision: this.revision };
  }

  #forget(since: Revision): void {
    this.#changes = [];
    this.#bytes = 0;
    this.#since = since;
  }
}

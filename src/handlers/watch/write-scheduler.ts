import { endOfTick } from '../../lib/event-loop.ts';

export interface WriteSchedulerOptions {
  /** Runs the function in another tick of the event loop. */
  readonly defer?: (run: () => void) => void;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
}

interface ScheduledWatcher {
  writeSome(): void;
}

/**
 * How long watchers are written to in one tick: as long as other work took in the last one, within these bounds.
 * Requests wait little while they are few, and an endless stream of requests does not starve the watchers.
 */
const SLICE_MS = { min: 1, max: 2 };

/**
 * Gives slots to the watchers that have something to write, in the order in which they were scheduled. Each tick of the
 * event loop has slots for some of them, and everything that came since a watcher's last slot goes out in one write. So
 * the faster events come, the less each of them costs, and the number of watchers does not delay other requests.
 */
export class WriteScheduler {
  readonly now: () => number;
  readonly #defer: (run: () => void) => void;
  readonly #scheduled = new Set<ScheduledWatcher>();
  #isWriting = false;
  /** When the last slice of writes ended. */
  #sliceEndedAt = 0;

  constructor({ defer = endOfTick.work, now = () => performance.now() }: WriteSchedulerOptions) {
    this.#defer = defer;
    this.now = now;
  }

  /** The number of watchers that wait for their slot. */
  get size(): number {
    return this.#scheduled.size;
  }

  schedule(watcher: ScheduledWatcher): void {
    this.#scheduled.add(watcher);
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#sliceEndedAt = this.now();
    this.#defer(this.#writeSlice);
  }

  remove(watcher: ScheduledWatcher): void {
    this.#scheduled.delete(watcher);
  }

  /** Writes to some of the scheduled watchers, and to the rest in the next tick; to none twice in one. */
  readonly #writeSlice = (): void => {
    const startedAt = this.now();
    const end = startedAt + Math.min(Math.max(startedAt - this.#sliceEndedAt, SLICE_MS.min), SLICE_MS.max);
    let left = this.#scheduled.size;
    for (const watcher of this.#scheduled) {
      this.#scheduled.delete(watcher);
      watcher.writeSome();
      left -= 1;
      if (left === 0 || this.now() >= end) break;
    }
    this.#sliceEndedAt = this.now();
    this.#isWriting = this.#scheduled.size > 0;
    if (this.#isWriting) this.#defer(this.#writeSlice);
  };
}

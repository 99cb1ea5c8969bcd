import { LinkedList, type LinkedListNode } from './linked-list.ts';

/** An item with a deadline. `Deadlines` owns the field. */
export interface Timed<T> {
  deadline?: { readonly due: number; readonly node: LinkedListNode<T> } | undefined;
}

/**
 * Deadlines of equal length expire in the order in which they were started, so one timer for the oldest item is enough.
 * A timer per request would cost more than most stages of a request.
 */
export class Deadlines<T extends Timed<T>> {
  readonly #afterMs: number;
  readonly #now: () => number;
  readonly #expire: (item: T) => void;
  readonly #items = new LinkedList<T>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { afterMs: number; now: () => number; expire: (item: T) => void }) {
    this.#afterMs = options.afterMs;
    this.#now = options.now;
    this.#expire = options.expire;
  }

  start(item: T): void {
    this.stop(item);
    item.deadline = { due: this.#now() + this.#afterMs, node: this.#items.add(item) };
    this.#timer ??= this.#sweepAfter(this.#afterMs);
  }

  stop(item: T): void {
    if (item.deadline === undefined) return;
    this.#items.remove(item.deadline.node);
    item.deadline = undefined;
  }

  /** Unreferenced: open connections keep the process alive, not this timer. */
  #sweepAfter(ms: number): NodeJS.Timeout {
    return setTimeout(this.#sweep, ms).unref();
  }

  readonly #sweep = (): void => {
    const now = this.#now();
    for (let oldest = this.#items.first; oldest !== undefined; oldest = this.#items.first) {
      const due = oldest.deadline?.due ?? now;
      // At least a millisecond: a clock that is slightly ahead of the timers must not cause a busy loop.
      if (due > now) {
        this.#timer = this.#sweepAfter(Math.max(1, due - now));
        return;
      }
      this.stop(oldest);
      // A deadline that `expire` starts needs no timer: this loop checks it, or arms the timer for it.
      this.#expire(oldest);
    }
    this.#timer = undefined;
  };
}

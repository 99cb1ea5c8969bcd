import { LinkedList, type LinkedListNode } from './linked-list.ts';

/** Something that may run out of time; what is kept with it for that. */
export interface Timed<T> {
  deadline?: { readonly due: number; readonly node: LinkedListNode<T> } | undefined;
}

/**
 * One deadline for many: requests that all have the same time run out in the order they came, so one timer
 * for the oldest is enough. A timer for each would cost more than most of what a request does here.
 */
export class Deadlines<T extends Timed<T>> {
  readonly #afterMs: number;
  readonly #now: () => number;
  readonly #expire: (item: T) => void;
  readonly #row = new LinkedList<T>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { afterMs: number; now: () => number; expire: (item: T) => void }) {
    this.#afterMs = options.afterMs;
    this.#now = options.now;
    this.#expire = options.expire;
  }

  start(item: T): void {
    this.stop(item);
    item.deadline = { due: this.#now() + this.#afterMs, node: this.#row.add(item) };
    this.#timer ??= this.#sweepAfter(this.#afterMs);
  }

  stop(item: T): void {
    if (item.deadline === undefined) return;
    this.#row.remove(item.deadline.node);
    item.deadline = undefined;
  }

  /** The connections keep the process alive as long as there is something to wait for; this must not. */
  #sweepAfter(ms: number): NodeJS.Timeout {
    return setTimeout(this.#sweep, ms).unref();
  }

  readonly #sweep = (): void => {
    const now = this.#now();
    for (let oldest = this.#row.first; oldest !== undefined; oldest = this.#row.first) {
      const due = oldest.deadline?.due ?? now;
      // At least a millisecond: a clock that runs a little ahead of the timers must not make this spin.
      if (due > now) {
        this.#timer = this.#sweepAfter(Math.max(1, due - now));
        return;
      }
      this.stop(oldest);
      // Whoever starts something anew in there starts no timer: the one that has just run out still stands for it.
      this.#expire(oldest);
    }
    this.#timer = undefined;
  };
}

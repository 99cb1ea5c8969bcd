/**
 * One deadline for many: requests that all have the same time run out in the order they came, so one timer
 * for the oldest is enough. A timer for each would cost more than most of what a request does here.
 */
export class Deadlines<T> {
  readonly #afterMs: number;
  readonly #now: () => number;
  readonly #expire: (item: T) => void;
  /** When each runs out; a Map keeps the order of arrival. */
  readonly #due = new Map<T, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { afterMs: number; now: () => number; expire: (item: T) => void }) {
    this.#afterMs = options.afterMs;
    this.#now = options.now;
    this.#expire = options.expire;
  }

  start(item: T): void {
    this.#due.set(item, this.#now() + this.#afterMs);
    this.#timer ??= this.#sweepAfter(this.#afterMs);
  }

  stop(item: T): void {
    this.#due.delete(item);
  }

  /** The connections keep the process alive as long as there is something to wait for; this must not. */
  #sweepAfter(ms: number): NodeJS.Timeout {
    return setTimeout(this.#sweep, ms).unref();
  }

  readonly #sweep = (): void => {
    this.#timer = undefined;
    const now = this.#now();
    for (const [item, due] of this.#due) {
      // At least a millisecond: a clock that runs a little ahead of the timers must not make this spin.
      if (due > now) {
        this.#timer = this.#sweepAfter(Math.max(1, due - now));
        return;
      }
      this.#due.delete(item);
      this.#expire(item);
    }
  };
}

/** Where something stands in the row of those that have a deadline; kept with it by `Deadlines`, and nobody else's business. */
export interface RowPlace<T> {
  readonly item: T;
  readonly due: number;
  before: RowPlace<T> | undefined;
  after: RowPlace<T> | undefined;
}

/** Something that may run out of time. */
export interface Timed<T> {
  rowPlace?: RowPlace<T> | undefined;
}

/**
 * One deadline for many: requests that all have the same time run out in the order they came, so one timer
 * for the oldest is enough. A timer for each would cost more than most of what a request does here.
 *
 * A row of links, and not a Map. A Map through which much goes is copied again and again, and V8 leaves in each copy what was
 * in it at the time, with a link to the next: once one of these is old, all that follow live on with all they hold, although
 * nobody can reach them, until what is old is collected. That were whole requests, which made that a daily business.
 * For the same reason what leaves the row lets go of its neighbours.
 */
export class Deadlines<T extends Timed<T>> {
  readonly #afterMs: number;
  readonly #now: () => number;
  readonly #expire: (item: T) => void;
  #oldest: RowPlace<T> | undefined;
  #newest: RowPlace<T> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { afterMs: number; now: () => number; expire: (item: T) => void }) {
    this.#afterMs = options.afterMs;
    this.#now = options.now;
    this.#expire = options.expire;
  }

  start(item: T): void {
    this.stop(item);
    const place: RowPlace<T> = { item, due: this.#now() + this.#afterMs, before: this.#newest, after: undefined };
    if (this.#newest === undefined) this.#oldest = place;
    else this.#newest.after = place;
    this.#newest = place;
    item.rowPlace = place;
    this.#timer ??= this.#sweepAfter(this.#afterMs);
  }

  stop(item: T): void {
    const place = item.rowPlace;
    if (place === undefined) return;
    item.rowPlace = undefined;
    const { before, after } = place;
    if (before === undefined) this.#oldest = after;
    else before.after = after;
    if (after === undefined) this.#newest = before;
    else after.before = before;
    place.before = undefined;
    place.after = undefined;
  }

  /** The connections keep the process alive as long as there is something to wait for; this must not. */
  #sweepAfter(ms: number): NodeJS.Timeout {
    return setTimeout(this.#sweep, ms).unref();
  }

  readonly #sweep = (): void => {
    this.#timer = undefined;
    const now = this.#now();
    while (this.#oldest !== undefined) {
      const { item, due } = this.#oldest;
      // At least a millisecond: a clock that runs a little ahead of the timers must not make this spin.
      if (due > now) {
        this.#timer = this.#sweepAfter(Math.max(1, due - now));
        return;
      }
      this.stop(item);
      this.#expire(item);
    }
  };
}

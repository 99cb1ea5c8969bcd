interface TokenBucketsOptions {
  /** Tokens that a bucket gets each second. */
  readonly perSecond: number;
  /** Tokens of a full bucket. */
  readonly burst: number;
  /** How far ahead tokens may be taken, in milliseconds; 0 when left out. */
  readonly maxAheadMs?: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
}

const SWEEP_MS = 1_000;

/**
 * A token bucket for each key. A bucket is stored as the time at which it will be full (the generic cell rate
 * algorithm). A full bucket equals a new one, so it is removed by the next sweep.
 */
export class TokenBuckets {
  readonly #options: Required<TokenBucketsOptions>;
  readonly #intervalMs: number;
  /**
   * By key. Bound: the keys of the last `burst / perSecond` seconds, `maxAheadMs` and SWEEP_MS together. After that a
   * bucket is full, and the next `take` of any key sweeps it.
   */
  readonly #fullAt = new Map<string, number>();
  #sweepAt = 0;

  constructor(options: TokenBucketsOptions) {
    this.#options = { maxAheadMs: 0, ...options };
    this.#intervalMs = 1000 / options.perSecond;
  }

  /** How many buckets are not full, or were not when they were last swept. */
  get size(): number {
    return this.#fullAt.size;
  }

  /** Milliseconds until the bucket has a token; 0 when it has one. */
  waitMs(key: string): number {
    const time = this.#options.now();
    const fullAt = this.#fullAt.get(key) ?? time;
    return Math.max(0, fullAt - time - (this.#options.burst - 1) * this.#intervalMs);
  }

  /** Takes a token; the bucket may go into debt, up to `maxAheadMs`. */
  take(key: string): void {
    const { burst, maxAheadMs, now } = this.#options;
    const time = now();
    this.#sweep(time);
    const fullAt = Math.max(time, this.#fullAt.get(key) ?? time) + this.#intervalMs;
    this.#fullAt.set(key, Math.min(fullAt, time + maxAheadMs + burst * this.#intervalMs));
  }

  tryTake(key: string): boolean {
    if (this.waitMs(key) > 0) return false;
    this.take(key);
    return true;
  }

  /** Gives a token back. A full bucket takes no more. */
  refund(key: string): void {
    const fullAt = this.#fullAt.get(key);
    if (fullAt !== undefined) this.#fullAt.set(key, fullAt - this.#intervalMs);
  }

  #sweep(time: number): void {
    if (time < this.#sweepAt) return;
    this.#sweepAt = time + SWEEP_MS;
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= time) this.#fullAt.delete(key);
  }
}

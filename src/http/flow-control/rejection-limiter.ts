import { setTimeout as delay } from 'node:timers/promises';

export interface RejectionLimiterOptions {
  /** How many rejections a second one flow is sent. */
  readonly perSecond: number;
  /** How many of them may be sent at once: enough for every client that waits as `Retry-After` says. */
  readonly burst: number;
  /** No rejection is delayed longer. */
  readonly maxDelayMs: number;
  /** When this many of one flow are delayed, the connections of further ones are closed instead. */
  readonly maxDelayed: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

interface Bucket {
  /** When the next rejection would be sent without a burst. */
  next: number;
  delayed: number;
}

/**
 * A rate limiter (token bucket for each flow) for rejections. A rejection is cheap, but a client that ignores it and
 * asks again at once, over a thousand connections, would keep the server busy with nothing else. So rejections are
 * delayed: a connection that waits for its answer sends no request. They are sent one after the other, so that more
 * connections do not get more rejections, nor many of them in one tick of the event loop.
 */
export class RejectionLimiter {
  readonly #options: Required<RejectionLimiterOptions>;
  readonly #intervalMs: number;
  readonly #buckets = new Map<string, Bucket>();
  #sweepAt = 0;

  constructor(options: RejectionLimiterOptions) {
    this.#options = { sleep: (ms) => delay(ms, undefined, { ref: false }), ...options };
    this.#intervalMs = 1000 / options.perSecond;
  }

  /** How many flows have a bucket. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Waits, if need be, until the rejection may be sent. False: too many are delayed; close the connection instead. */
  wait(flow: string): boolean | Promise<boolean> {
    const { burst, maxDelayed, maxDelayMs, now } = this.#options;
    const time = now();
    this.#sweep(time);
    let bucket = this.#buckets.get(flow);
    if (bucket === undefined) {
      bucket = { next: time, delayed: 0 };
      this.#buckets.set(flow, bucket);
    }
    const at = Math.max(time, bucket.next);
    const early = at - time - (burst - 1) * this.#intervalMs;
    if (early > 0 && bucket.delayed >= maxDelayed) return false;
    // No delay is longer than `maxDelayMs`, so the next rejection need not be later either.
    bucket.next = Math.min(at + this.#intervalMs, time + maxDelayMs + burst * this.#intervalMs);
    return early <= 0 ? true : this.#delay(bucket, Math.min(maxDelayMs, early));
  }

  async #delay(bucket: Bucket, ms: number): Promise<boolean> {
    bucket.delayed += 1;
    await this.#options.sleep(ms);
    bucket.delayed -= 1;
    return true;
  }

  /** A bucket that is full and delays nothing is like a new one. */
  #sweep(time: number): void {
    if (time < this.#sweepAt) return;
    this.#sweepAt = time + 1000;
    for (const [flow, { next, delayed }] of this.#buckets) {
      if (delayed === 0 && next <= time) this.#buckets.delete(flow);
    }
  }
}

import { pause } from '../../lib/backoff.ts';
import { InFlightCounts } from '../../lib/in-flight-counts.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { TokenBuckets } from '../../lib/token-buckets.ts';

interface RejectionLimiterOptions {
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

/**
 * A rate limiter (token bucket for each flow) for rejections. A rejection is cheap, but a client that ignores it and
 * asks again at once, over a thousand connections, would keep the server busy with nothing else. So rejections are
 * delayed: a connection that waits for its answer sends no request. They are sent one after the other, so that more
 * connections do not get more rejections, nor many of them in one tick of the event loop.
 */
export class RejectionLimiter {
  readonly #options: Required<RejectionLimiterOptions>;
  readonly #buckets: TokenBuckets;
  /** How many rejections of a flow are delayed; only flows that have some. */
  readonly #delayed = new InFlightCounts();

  constructor(options: RejectionLimiterOptions) {
    this.#options = { sleep: (ms) => pause(ms, { ref: false }), ...options };
    // No delay is longer than `maxDelayMs`, so the next rejection need not be later either.
    this.#buckets = new TokenBuckets({ ...options, maxAheadMs: options.maxDelayMs });
  }

  /** How many entries are in memory: buckets, and counts of delayed rejections. */
  get size(): number {
    return this.#buckets.size + this.#delayed.size;
  }

  /** Waits, if need be, until the rejection may be sent. False: too many are delayed; close the connection instead. */
  wait(flow: string): MaybePromise<boolean> {
    const { maxDelayed, maxDelayMs } = this.#options;
    const waitMs = this.#buckets.waitMs(flow);
    if (waitMs > 0 && this.#delayed.of(flow) >= maxDelayed) return false;
    this.#buckets.take(flow);
    return waitMs === 0 ? true : this.#delay(flow, Math.min(maxDelayMs, waitMs));
  }

  async #delay(flow: string, ms: number): Promise<boolean> {
    const release = this.#delayed.add(flow);
    await this.#options.sleep(ms);
    release();
    return true;
  }
}

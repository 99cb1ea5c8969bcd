import { setTimeout as delay } from 'node:timers/promises';

export interface RejectionLimiterOptions {
  /** So many refusals leave in each second. */
  readonly perSecond: number;
  /** So many of them may leave at once: enough for every client that heeds what it is told. */
  readonly atOnce: number;
  /** For how long one is held back at most, however many there are. */
  readonly maxHoldMs: number;
  /** More than this many of one caller are not kept waiting: their connections are closed. */
  readonly maxHeld: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

interface Pace {
  /** When the next refusal would leave if nobody had been in a hurry. */
  next: number;
  held: number;
}

/**
 * A refusal is cheap, but a client that ignores it and asks again at once, over a thousand connections, would keep the
 * server busy with nothing else. Its answers are held back: a connection that waits for its answer asks for nothing. They
 * leave one after the other, the later the more there are, so that more connections do not mean more refusals, nor many of
 * them in one turn of the event loop.
 */
export class RejectionLimiter {
  readonly #options: Required<RejectionLimiterOptions>;
  readonly #stepMs: number;
  #paces = new Map<string, Pace>();
  #sweepAt = 0;

  constructor(options: RejectionLimiterOptions) {
    this.#options = { sleep: (ms) => delay(ms, undefined, { ref: false }), ...options };
    this.#stepMs = 1000 / options.perSecond;
  }

  /** How many callers are known. */
  get size(): number {
    return this.#paces.size;
  }

  /** Waits, if need be, until the refusal may be sent. False: there are too many; close the connection instead. */
  wait(who: string): boolean | Promise<boolean> {
    const { atOnce, maxHeld, maxHoldMs, now } = this.#options;
    const time = now();
    this.#sweep(time);
    let pace = this.#paces.get(who);
    if (pace === undefined) {
      pace = { next: time, held: 0 };
      this.#paces.set(who, pace);
    }
    const at = Math.max(time, pace.next);
    const early = at - time - (atOnce - 1) * this.#stepMs;
    if (early > 0 && pace.held >= maxHeld) return false;
    // Nobody is held back longer than this, so nobody's turn need be later either.
    pace.next = Math.min(at + this.#stepMs, time + maxHoldMs + atOnce * this.#stepMs);
    return early <= 0 ? true : this.#hold(pace, Math.min(maxHoldMs, early));
  }

  async #hold(pace: Pace, ms: number): Promise<boolean> {
    pace.held += 1;
    await this.#options.sleep(ms);
    pace.held -= 1;
    return true;
  }

  /** Who has none that waits, and none that would have to, is as good as new. */
  #sweep(time: number): void {
    if (time < this.#sweepAt) return;
    this.#sweepAt = time + 1000;
    for (const [who, { next, held }] of this.#paces) if (held === 0 && next <= time) this.#paces.delete(who);
  }
}

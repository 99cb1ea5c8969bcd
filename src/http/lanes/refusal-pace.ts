import { setTimeout as delay } from 'node:timers/promises';

export interface RefusalPaceOptions {
  /** So many refusals each second are answered at once; enough for every client that heeds what it is told. */
  readonly perSecond: number;
  /** For how long each further one is held back at least, */
  readonly holdMs: number;
  /** and at most, however many there are. */
  readonly maxHoldMs: number;
  /** More than this many of one caller are not kept waiting: their connections are closed. */
  readonly maxHeld: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

/**
 * A refusal is cheap, but a client that ignores it and asks again at once, over a thousand connections, would keep the
 * server busy with nothing else. Its answers are held back: a connection that waits for its answer asks for nothing. The
 * more of them there are, the longer, so that more connections do not mean more refusals.
 */
export class RefusalPace {
  readonly #options: Required<RefusalPaceOptions>;
  /** Refusals in the current second, by caller. */
  #recent = new Map<string, number>();
  #second = 0;
  readonly #held = new Map<string, number>();

  constructor(options: RefusalPaceOptions) {
    this.#options = { sleep: (ms) => delay(ms, undefined, { ref: false }), ...options };
  }

  /** Waits, if need be, until the refusal may be sent. False: there are too many; close the connection instead. */
  wait(who: string): boolean | Promise<boolean> {
    const { perSecond, maxHeld, now } = this.#options;
    const second = Math.floor(now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#recent = new Map();
    }
    const count = (this.#recent.get(who) ?? 0) + 1;
    this.#recent.set(who, count);
    if (count <= perSecond) return true;
    const held = this.#held.get(who) ?? 0;
    if (held >= maxHeld) return false;
    this.#held.set(who, held + 1);
    return this.#hold(who, held);
  }

  async #hold(who: string, held: number): Promise<boolean> {
    const { perSecond, holdMs, maxHoldMs, sleep } = this.#options;
    await sleep(Math.min(maxHoldMs, Math.max(holdMs, (held * 1000) / perSecond)));
    const rest = (this.#held.get(who) ?? 1) - 1;
    if (rest === 0) this.#held.delete(who);
    else this.#held.set(who, rest);
    return true;
  }
}

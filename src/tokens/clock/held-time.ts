import type { ClockCheck } from './clock-check.ts';

export interface HeldTimeOptions {
  /** Milliseconds of the wall clock. */
  readonly now: () => number;
  /** Milliseconds of a clock that does not jump. */
  readonly steady: () => number;
  /** Two times that are no further apart are the same. */
  readonly limitMs: number;
  /** The time that was last written into the store. */
  readonly last: number | undefined;
  /** A clock that was thought wrong is believed from now on. */
  readonly onBelieved: (skewMs: number) => void;
}

/** A clock that has kept its time for so long is believed. */
export const PATIENCE_MS = 600_000;

/**
 * Our clock beside itself, where there is no other: with the time that was last written into the store, and with how
 * time has passed since this process began. That is a lower bound. A clock that is further than expected says nothing:
 * the machine may have slept, or have been off for a year. One that has gone back was wrong before or is wrong now, and
 * nobody can know which; so the earlier time has to last before it is believed. A clock that goes ahead is not held to
 * that either until it has lasted: set right soon enough, it is simply right.
 */
export class HeldTime implements ClockCheck {
  readonly #options: HeldTimeOptions;
  /** What to add to the steady clock to have the time. */
  #believed: number;
  #other: { readonly offset: number; readonly since: number } | undefined;

  constructor(options: HeldTimeOptions) {
    const { now, steady, limitMs, last = Number.NEGATIVE_INFINITY } = options;
    this.#options = options;
    this.#believed = (now() < last - limitMs ? last : now()) - steady();
  }

  skewMs(): number {
    const { now, steady, limitMs, onBelieved } = this.#options;
    const at = steady();
    const offset = now() - at;
    const skew = offset - this.#believed;
    if (Math.abs(skew) <= limitMs) {
      // Small steps are how clocks are kept right.
      this.#believed = offset;
      this.#other = undefined;
      return 0;
    }
    if (this.#other === undefined || Math.abs(offset - this.#other.offset) > limitMs) {
      this.#other = { offset, since: at };
    } else if (at - this.#other.since >= PATIENCE_MS) {
      this.#believed = offset;
      this.#other = undefined;
      onBelieved(skew);
      return 0;
    }
    return Math.min(skew, 0);
  }

  /** The time that may be written down: undefined while it may turn out to be wrong. */
  certain(): number | undefined {
    return this.skewMs() === 0 && this.#other === undefined ? this.#options.now() : undefined;
  }
}

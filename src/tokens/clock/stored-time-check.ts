import type { Clocks } from '../../lib/clock-jumps.ts';
import type { ClockCheck } from './clock-guard.ts';

interface StoredTimeCheckOptions extends Clocks {
  /** A smaller difference is not a jump. */
  readonly limitMs: number;
  /** The time that was last written to the store. */
  readonly storedTime: number | undefined;
  /** Called when a clock that had jumped is trusted again. */
  readonly onTrusted: (skewMs: number) => void;
}

/** A clock that has not jumped for this long is trusted. */
export const TRUST_AFTER_MS = 600_000;

/**
 * For a store that reports no time: compares our clock with the time last written to the store, and with the
 * monotonic clock since this process began. That gives a lower bound only. A clock that is ahead of it proves nothing:
 * the machine may have been suspended, or off for a year. After a jump in either direction the new time is trusted once
 * it has been stable for ten minutes. After a jump back it is unknown which time was wrong.
 */
export class StoredTimeCheck implements ClockCheck {
  readonly #options: StoredTimeCheckOptions;
  /** The wall clock minus the monotonic clock, as last trusted. */
  #trusted: number;
  /** After a jump: the new difference, and when it was first seen. */
  #candidate: { readonly offset: number; readonly since: number } | undefined;

  constructor(options: StoredTimeCheckOptions) {
    const { now, monotonicNow, limitMs, storedTime = Number.NEGATIVE_INFINITY } = options;
    this.#options = options;
    this.#trusted = (now() < storedTime - limitMs ? storedTime : now()) - monotonicNow();
  }

  skewMs(): number {
    const { now, monotonicNow, limitMs, onTrusted } = this.#options;
    const at = monotonicNow();
    const offset = now() - at;
    const skew = offset - this.#trusted;
    if (Math.abs(skew) <= limitMs) {
      // Time synchronisation adjusts a clock by small steps.
      this.#trusted = offset;
      this.#candidate = undefined;
      return 0;
    }
    if (this.#candidate === undefined || Math.abs(offset - this.#candidate.offset) > limitMs) {
      this.#candidate = { offset, since: at };
    } else if (at - this.#candidate.since >= TRUST_AFTER_MS) {
      this.#trusted = offset;
      this.#candidate = undefined;
      onTrusted(skew);
      return 0;
    }
    return Math.min(skew, 0);
  }

  /** The time to write to the store; undefined after a jump, until the clock is trusted. */
  trustedTime(): number | undefined {
    return this.skewMs() === 0 && this.#candidate === undefined ? this.#options.now() : undefined;
  }
}

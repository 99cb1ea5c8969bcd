import type { Clocks } from '../../lib/clock-jumps.ts';
import type { TimeReading } from '../../storage/scan.ts';
import type { ClockCheck } from './clock-guard.ts';

/** A reading is ignored after this long. */
const MAX_AGE_MS = 600_000;
/** The `Date` header has whole seconds, so the middle of the second is wrong by half a second at most. */
const HALF_SECOND_MS = 500;

interface MemberClock {
  /** The member's clock minus our monotonic clock, within `error`. */
  readonly offset: number;
  readonly error: number;
  readonly at: number;
}

/**
 * Compares our clock with those of the etcd members. Between two readings, a member's time advances by our monotonic
 * clock, so a jump of our wall clock shows at the next token, and so does its end. Our clock is wrong only if more than
 * half of the members that responded differ from it: a single member with a wrong clock has no effect.
 */
export class MemberClockCheck implements ClockCheck {
  readonly #options: Clocks;
  readonly #members = new Map<string, MemberClock>();

  constructor(options: Clocks) {
    this.#options = options;
  }

  update(readings: readonly TimeReading[]): void {
    for (const { member, time, asked, answered } of readings) {
      this.#members.set(member, {
        offset: time + HALF_SECOND_MS - (asked + answered) / 2,
        error: HALF_SECOND_MS + (answered - asked) / 2,
        at: answered,
      });
    }
  }

  skewMs(): number {
    const at = this.#options.monotonicNow();
    const ours = this.#options.now() - at;
    const skews: number[] = [];
    for (const member of this.#members.values()) {
      if (at - member.at <= MAX_AGE_MS) skews.push(leastSkew(ours - member.offset, member.error));
    }
    skews.sort((a, b) => Math.abs(a) - Math.abs(b));
    // The lower median: if it is above the limit, so are more than half.
    return skews[Math.floor((skews.length - 1) / 2)] ?? 0;
  }
}

const leastSkew = (difference: number, error: number): number =>
  Math.sign(difference) * Math.max(0, Math.abs(difference) - error);

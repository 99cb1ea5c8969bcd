import type { TimeReading } from '../../storage/store-time.ts';
import type { ClockCheck } from './clock-check.ts';

export interface MemberTimesOptions {
  /** Milliseconds of the wall clock. */
  readonly now: () => number;
  /** Milliseconds of a clock that does not jump. */
  readonly steady: () => number;
}

/** Without a word from a member for so long, what it said counts no more. */
const FORGET_MS = 600_000;
/** `Date` has whole seconds: in the middle it is wrong by half of one at most. */
const HALF_SECOND_MS = 500;

interface Known {
  /** What to add to the steady clock to have the member's time, give or take the error. */
  readonly offset: number;
  readonly error: number;
  readonly at: number;
}

/**
 * Our clock beside those of the members of etcd. Between two answers their time goes on by the steady clock, so a wall
 * clock that jumps is noticed at the next token, and is right again as soon as it is set right. Ours is called wrong
 * only by more than half of those who answered: one member with a wrong clock stops nobody.
 */
export class MemberTimes implements ClockCheck {
  readonly #options: MemberTimesOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: MemberTimesOptions) {
    this.#options = options;
  }

  learn(readings: readonly TimeReading[]): void {
    for (const { member, time, asked, answered } of readings) {
      this.#known.set(member, {
        offset: time + HALF_SECOND_MS - (asked + answered) / 2,
        error: HALF_SECOND_MS + (answered - asked) / 2,
        at: answered,
      });
    }
  }

  skewMs(): number {
    const at = this.#options.steady();
    const ours = this.#options.now() - at;
    const distances: number[] = [];
    for (const known of this.#known.values()) {
      if (at - known.at <= FORGET_MS) distances.push(certainPart(ours - known.offset, known.error));
    }
    distances.sort((a, b) => Math.abs(a) - Math.abs(b));
    // The lower one of the two in the middle: what is farther away than this one's limit is more than half.
    return distances[Math.floor((distances.length - 1) / 2)] ?? 0;
  }
}

const certainPart = (distance: number, error: number): number =>
  Math.sign(distance) * Math.max(0, Math.abs(distance) - error);

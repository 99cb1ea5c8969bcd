import { unavailable } from '../../api/status.ts';
import type { ClockJumps } from '../../lib/clock-jumps.ts';
import { quantity } from '../../lib/text.ts';
import type { Logger } from '../../observability/logger.ts';

/** Compares the wall clock of this machine with another source of time. */
export interface ClockCheck {
  /**
   * The least number of milliseconds by which our clock is wrong: negative when it is behind, 0 when there is no
   * evidence against it. Called for every token, so it reads memory only.
   */
  skewMs(): number;
}

/** Another source of time. */
export interface TimeSource {
  readonly check: ClockCheck;
  /** Of this process, and while no process had the store open. */
  readonly jumps: Pick<ClockJumps, 'isSteady'>;
  /** Called whenever the clock is found to be wrong, to read this source again. */
  readonly onWrong?: () => void;
}

interface ClockGuardOptions extends TimeSource {
  /** Milliseconds of the wall clock. */
  readonly now: () => number;
  /** Infinity: the skew is measured, and nothing is refused. */
  readonly limitMs: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

const RETRY_SECONDS = 5;

/**
 * B13: nothing is signed while our clock is known to be wrong. A clock that is ahead issues tokens that are valid
 * beyond what was granted, once that time comes. A clock that is behind issues tokens that verifiers refuse. The
 * removal of expired keys and revocations stops as well: a removal that is too early cannot be undone.
 */
export class ClockGuard {
  readonly #options: ClockGuardOptions;
  #isWrong = false;

  constructor(options: ClockGuardOptions) {
    this.#options = options;
  }

  /** In either direction. */
  get skewSeconds(): number {
    return Math.abs(this.#options.check.skewMs()) / 1000;
  }

  isRight(): boolean {
    return this.#check() === undefined;
  }

  /**
   * Epoch milliseconds, corrected if our clock is behind: the expiry of a revocation, which is also created while the
   * clock is wrong, must not be too early.
   */
  latest(): number {
    const { now, check, limitMs } = this.#options;
    const skew = check.skewMs();
    return skew < -limitMs ? now() - skew : now();
  }

  /**
   * The time by which expired revocations, records and keys may be removed, in epoch milliseconds: the earlier one of
   * this clock and the other source of time, and -Infinity while the clock is wrong or has jumped within the last hour.
   * A removal cannot be undone: after one that is too early, a revoked token is accepted again.
   */
  removalTime(): number {
    const { now, check, jumps } = this.#options;
    const isSteady = jumps.isSteady();
    if (!this.isRight() || !isSteady) return Number.NEGATIVE_INFINITY;
    return now() - Math.max(0, check.skewMs());
  }

  /** Throws the 503 of a token request while the clock is wrong. */
  requireRight(): void {
    const skew = this.#check();
    if (skew === undefined) return;
    throw unavailable(`no tokens are issued at the moment: ${sentence(skew)}`, RETRY_SECONDS);
  }

  /** The skew, if the clock is wrong. */
  #check(): number | undefined {
    const { check, limitMs, onWrong, logger } = this.#options;
    const skew = check.skewMs();
    const isWrong = Math.abs(skew) > limitMs;
    // One line when it begins and one when it ends, not one for each request.
    if (isWrong !== this.#isWrong) {
      this.#isWrong = isWrong;
      if (isWrong) logger.warn({ seconds: Math.round(skew / 1000) }, `no tokens are issued: ${sentence(skew)}`);
      else logger.info({}, 'the clock of this server is right again: tokens are signed');
    }
    if (!isWrong) return undefined;
    onWrong?.();
    return skew;
  }
}

const sentence = (skewMs: number): string =>
  `the clock of this server is ${quantity(Math.round(Math.abs(skewMs) / 1000), 'second')} ${skewMs < 0 ? 'behind' : 'ahead of'} the time of its store`;

import { unavailable } from '../../api/status.ts';
import type { Logger } from '../../observability/logger.ts';
import type { ClockCheck } from './clock-check.ts';

export interface ClockGuardOptions {
  /** Milliseconds of the wall clock. */
  readonly now: () => number;
  readonly check: ClockCheck;
  /** Infinity: it is told, and nothing is refused. */
  readonly limitMs: number;
  /** Called whenever the clock is found to be wrong: what it is compared with can be looked at anew. */
  readonly onWrong?: () => void;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

const RETRY_SECONDS = 5;

/**
 * B13: nothing is signed while our clock is known to be wrong. A clock that is ahead would make tokens that are good
 * beyond what was granted, once that time comes; one that is behind makes tokens that others refuse. The same goes for
 * what is done when its time has come: a key, a revocation that is removed too early is gone.
 */
export class ClockGuard {
  readonly #options: ClockGuardOptions;
  #wrong = false;

  constructor(options: ClockGuardOptions) {
    this.#options = options;
  }

  /** How far it is off, either way. */
  get skewSeconds(): number {
    return Math.abs(this.#options.check.skewMs()) / 1000;
  }

  isRight(): boolean {
    return this.#look() === undefined;
  }

  /**
   * The time, and never earlier than it is known to be: for what must not end too soon. A revocation is made also while
   * the clock is wrong.
   */
  latest(): number {
    const { now, check, limitMs } = this.#options;
    const skew = check.skewMs();
    return skew < -limitMs ? now() - skew : now();
  }

  /** Throws what the caller is told who wants something signed. */
  requireRight(): void {
    const skew = this.#look();
    if (skew === undefined) return;
    throw unavailable(`no tokens are signed at the moment: ${sentence(skew)}`, RETRY_SECONDS);
  }

  /** By how much it is wrong, if it is. */
  #look(): number | undefined {
    const { check, limitMs, onWrong, logger } = this.#options;
    const skew = check.skewMs();
    const wrong = Math.abs(skew) > limitMs;
    // Said when it begins and when it ends, however many ask in between.
    if (wrong !== this.#wrong) {
      this.#wrong = wrong;
      if (wrong) logger.warn({ seconds: Math.round(skew / 1000) }, `no tokens are signed: ${sentence(skew)}`);
      else logger.info({}, 'the clock here is right again, and tokens are signed');
    }
    if (!wrong) return undefined;
    onWrong?.();
    return skew;
  }
}

const sentence = (skewMs: number): string =>
  `the clock of this server is ${Math.round(Math.abs(skewMs) / 1000)} seconds ${skewMs < 0 ? 'behind' : 'ahead of'} the time that its store goes by`;

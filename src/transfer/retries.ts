import { backoff, pause } from '../lib/backoff.ts';
import { StorageError, type StorageErrorCode } from '../storage/contract.ts';

interface RetryOptions {
  /** Called with what the calls wait for: at the first failure, then every ten seconds at most. */
  readonly onWait?: (problem: string) => void;
  /** Milliseconds of a clock that does not jump. */
  readonly now?: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

const REPEATED: ReadonlySet<StorageErrorCode> = new Set(['unavailable', 'unknown-outcome']);
const BACKOFF_MS = { first: 200, most: 5_000 };
const SAY_EVERY_MS = 10_000;
/** As long as a cluster of etcd takes to elect a leader on overloaded disks, several times over. */
export const STALLED_AFTER_MS = 120_000;

/**
 * Calls to a store, repeated with backoff while it is unavailable. They fail together when none of them has succeeded
 * for two minutes.
 */
export class Retries {
  readonly #options: Required<RetryOptions>;
  /** When the first call failed after which none has succeeded. */
  #stalledSince: number | undefined;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor({ onWait = () => {}, now = () => performance.now(), sleep = pause }: RetryOptions = {}) {
    this.#options = { onWait, now, sleep };
  }

  /**
   * Returns the result of the first call that is not rejected with `unavailable` or `unknown-outcome`. `isRepeated` is
   * true when an earlier call was rejected: it may have happened nevertheless.
   */
  async run<T>(call: (isRepeated: boolean) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await call(attempt > 0);
        this.#stalledSince = undefined;
        return result;
      } catch (error) {
        if (!(error instanceof StorageError && REPEATED.has(error.code))) throw error;
        this.#failed(error);
        await this.#options.sleep(backoff(attempt, BACKOFF_MS));
      }
    }
  }

  #failed(error: StorageError): void {
    const now = this.#options.now();
    this.#stalledSince ??= now;
    if (now - this.#stalledSince >= STALLED_AFTER_MS) {
      const minutes = STALLED_AFTER_MS / 60_000;
      throw new StorageError('unavailable', `no progress for ${minutes} minutes: ${error.message}`, { cause: error });
    }
    if (now - this.#saidAt < SAY_EVERY_MS) return;
    this.#saidAt = now;
    this.#options.onWait(error.message);
  }
}

import type { Timing } from '../../../src/client/index.ts';

/** The clock and the retry delays of the client, with a way to skip the current delay. */
export interface RetryTiming extends Timing {
  /** Ends every delay in progress. */
  readonly retryNow: () => void;
}

/** A delay also ends when the browser is online again. */
export function createRetryTiming(): RetryTiming {
  const delays = new Set<() => void>();
  return {
    // Not `Date.now` itself: browser tests replace that function while the page runs.
    now: () => Date.now(),
    random: Math.random,
    retryNow: () => {
      for (const end of [...delays]) end();
    },
    delay: (ms, signal) =>
      new Promise((resolve, reject) => {
        const finish = (settle: () => void) => (): void => {
          clearTimeout(timer);
          delays.delete(end);
          removeEventListener('online', end);
          signal?.removeEventListener('abort', abort);
          settle();
        };
        const end = finish(resolve);
        const abort = finish(() => reject(signal?.reason));
        const timer = setTimeout(end, ms);
        delays.add(end);
        addEventListener('online', end);
        signal?.addEventListener('abort', abort);
        if (signal?.aborted) abort();
      }),
  };
}

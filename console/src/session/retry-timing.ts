import { pause, type Timing } from '../../../src/lib/backoff.ts';

/** The clock and the retry pauses of the client, with a way to skip the current pause. */
export interface RetryTiming extends Timing {
  /** Ends every pause in progress. */
  readonly retryNow: () => void;
}

/** A pause also ends when the browser is online again. */
export function createRetryTiming(): RetryTiming {
  const pauses = new Set<() => void>();
  return {
    // Not `Date.now` itself: browser tests replace that function while the page runs.
    now: () => Date.now(),
    random: Math.random,
    retryNow: () => {
      for (const end of [...pauses]) end();
    },
    pause: async (ms, signal) => {
      const skip = new AbortController();
      const end = (): void => skip.abort();
      pauses.add(end);
      addEventListener('online', end);
      await pause(ms, { signal: signal === undefined ? skip.signal : AbortSignal.any([signal, skip.signal]) });
      pauses.delete(end);
      removeEventListener('online', end);
    },
  };
}

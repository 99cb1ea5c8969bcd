/** The clock, delays and random numbers of a client. Tests replace them. */
export interface Timing {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason if it is aborted before. */
  delay(ms: number, signal?: AbortSignal): Promise<void>;
  /** In [0, 1). */
  random(): number;
}

export const realTiming: Timing = {
  now: Date.now,
  random: Math.random,
  delay: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      signal?.addEventListener('abort', stop, { once: true });
    }),
};

const MIN_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;

/**
 * Exponential backoff with jitter. Half of the delay is random, so that clients that lost the same server do not
 * reconnect at the same time.
 */
export function backoffMs(failures: number, random: () => number): number {
  const delayMs = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(failures, 16));
  return delayMs / 2 + (random() * delayMs) / 2;
}

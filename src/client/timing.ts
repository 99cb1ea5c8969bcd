/** Clock, delay and chance, passed in so that tests need no patience and repeat. */
export interface Timing {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after so many milliseconds; rejects with the signal's reason when it is aborted first. */
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

const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/**
 * How long to wait before the next attempt, after so many that came to nothing. Half of it is chance: thousands of
 * clients that lost one server at one moment must not come back at one moment.
 */
export function backoffMs(failures: number, random: () => number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 16));
  return longest / 2 + (random() * longest) / 2;
}

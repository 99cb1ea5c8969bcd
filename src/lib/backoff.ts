/** The clock, the pauses and the random numbers of code that tries again. Tests replace them. */
export interface Timing {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, or when the signal is aborted. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
  /** In [0, 1). */
  random(): number;
}

interface PauseOptions {
  readonly signal?: AbortSignal | undefined;
  /** False: the pause does not keep the process alive. */
  readonly ref?: boolean;
}

/** Resolves after `ms`, or when the signal is aborted: the caller looks at the signal. Also for browsers. */
export function pause(ms: number, { signal, ref = true }: PauseOptions = {}): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    // In a browser a timer is a number.
    if (!ref) (timer as { unref?: () => void }).unref?.();
    signal?.addEventListener('abort', end);
  });
}

export const realTiming: Timing = { now: Date.now, pause: (ms, signal) => pause(ms, { signal }), random: Math.random };

/** A pause that doubles with each failure. */
interface BackoffRange {
  /** After no failure. */
  readonly first: number;
  readonly most: number;
  /** The part of the pause that is random, from 0 to 1: so that processes do not try again at the same time. */
  readonly jitter?: number;
}

/** The pause after this many failures in a row, in the unit of the range. */
export function backoff(
  failures: number,
  { first, most, jitter = 0 }: BackoffRange,
  random: () => number = Math.random,
): number {
  const longest = Math.min(most, first * 2 ** Math.min(failures, 30));
  return longest * (1 - jitter + jitter * random());
}

/** Milliseconds between two connections to a server. Half is random: many clients lose the same server. */
export const reconnectMs = (failures: number, random: () => number): number =>
  backoff(failures, { first: 500, most: 30_000, jitter: 0.5 }, random);

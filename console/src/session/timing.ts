import type { Timing } from '../../../src/client/index.ts';

export interface WakeableTiming extends Timing {
  /** Ends every wait that is under way. */
  readonly wake: () => void;
}

/** A wait between two attempts ends early when a person says so, or when the browser is online again. */
export function createWakeableTiming(): WakeableTiming {
  const sleepers = new Set<() => void>();
  return {
    // Looked up at each call: whoever moves the clock means us, too.
    now: () => Date.now(),
    random: Math.random,
    wake: () => {
      for (const sleeper of [...sleepers]) sleeper();
    },
    delay: (ms, signal) =>
      new Promise((resolve, reject) => {
        const finish = (settle: () => void) => (): void => {
          clearTimeout(timer);
          sleepers.delete(wake);
          removeEventListener('online', wake);
          signal?.removeEventListener('abort', stop);
          settle();
        };
        const wake = finish(resolve);
        const stop = finish(() => reject(signal?.reason));
        const timer = setTimeout(wake, ms);
        sleepers.add(wake);
        addEventListener('online', wake);
        signal?.addEventListener('abort', stop);
        if (signal?.aborted) stop();
      }),
  };
}

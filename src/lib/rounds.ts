/**
 * Calls the task at this interval until the returned function is called. It does not keep the process alive: what the
 * task serves does that. Also for browsers.
 */
export function every(milliseconds: number, task: () => void): () => void {
  const timer = setInterval(task, milliseconds);
  // In a browser a timer is a number.
  (timer as { unref?: () => void }).unref?.();
  return () => clearInterval(timer);
}

/** Runs a task that repeats, one round at a time. Of rounds that fail in a row, only the first is reported. */
export function createRounds(round: () => Promise<void>, onFailure: (error: unknown) => void) {
  let running: Promise<void> | undefined;
  let failing = false;
  const run = async (): Promise<void> => {
    try {
      await round();
      failing = false;
    } catch (error) {
      if (!failing) onFailure(error);
      failing = true;
    }
  };
  return {
    /** Does nothing while a round runs. */
    start(): void {
      running ??= run().finally(() => {
        running = undefined;
      });
    },
    /** Settles when no round runs. */
    ended: async (): Promise<void> => running,
  };
}

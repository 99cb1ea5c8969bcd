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

/** A flag that one loop waits for and others set. Set while the loop is busy, it ends the next wait at once. */
export class Wakeup {
  #isSet = false;
  #resolve: (() => void) | undefined;

  readonly set = (): void => {
    this.#isSet = true;
    this.#resolve?.();
  };

  reset(): void {
    this.#isSet = false;
  }

  /** Resolves when it is set, after `ms`, or when the signal is aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isSet || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#resolve = undefined;
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end, { once: true });
      this.#resolve = end;
    });
  }
}

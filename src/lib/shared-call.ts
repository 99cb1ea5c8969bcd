import { pause } from './backoff.ts';

/**
 * Concurrent callers share one asynchronous call. A caller that arrives while a call runs waits for the next one: the
 * result of a call that started earlier may be older than what the caller has already seen. The next call starts when
 * the current one ends, or after `overlapMs`, so that a caller does not wait for two slow calls.
 */
export class SharedCall<T> {
  readonly #run: () => Promise<T>;
  readonly #overlapMs: number | undefined;
  #current: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;

  constructor(run: () => Promise<T>, { overlapMs }: { overlapMs?: number } = {}) {
    this.#run = run;
    this.#overlapMs = overlapMs;
  }

  call(): Promise<T> {
    if (this.#current === undefined) return this.#start();
    this.#next ??= this.#ended(this.#current).then(() => {
      this.#next = undefined;
      return this.#start();
    });
    return this.#next;
  }

  #ended(current: Promise<unknown>): Promise<unknown> {
    if (this.#overlapMs === undefined) return current;
    return Promise.race([current, pause(this.#overlapMs, { ref: false })]);
  }

  #start(): Promise<T> {
    const result = this.#run();
    const current: Promise<void> = result.then(
      () => this.#finished(current),
      () => this.#finished(current),
    );
    this.#current = current;
    return result;
  }

  #finished(current: Promise<unknown>): void {
    if (this.#current === current) this.#current = undefined;
  }
}

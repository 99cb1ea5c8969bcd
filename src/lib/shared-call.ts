/**
 * Concurrent callers share one asynchronous call. A caller that arrives while a call runs waits for the next one: the
 * result of a call that started earlier may be older than what the caller has already seen.
 */
export class SharedCall<T> {
  readonly #run: () => Promise<T>;
  #current: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;

  constructor(run: () => Promise<T>) {
    this.#run = run;
  }

  call(): Promise<T> {
    if (this.#current === undefined) return this.#start();
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      return this.#start();
    });
    return this.#next;
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

/**
 * Many callers share one question. Who comes while one is under way waits for the next: the answer to a question
 * that was put before a call began may be older than what the caller knows to have happened.
 */
export class SharedCall<T> {
  readonly #ask: () => Promise<T>;
  #current: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;

  constructor(ask: () => Promise<T>) {
    this.#ask = ask;
  }

  ask(): Promise<T> {
    if (this.#current === undefined) return this.#start();
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      return this.#start();
    });
    return this.#next;
  }

  #start(): Promise<T> {
    const answer = this.#ask();
    const current: Promise<void> = answer.then(
      () => this.#finished(current),
      () => this.#finished(current),
    );
    this.#current = current;
    return answer;
  }

  #finished(current: Promise<unknown>): void {
    if (this.#current === current) this.#current = undefined;
  }
}

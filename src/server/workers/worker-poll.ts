import type { Worker } from 'node:cluster';

/** The primary's side of questions to workers: each is put to several, and ends when all have answered or exited. */
export class WorkerPoll {
  readonly #pending = new Map<number, { readonly missing: Set<Worker>; readonly done: () => void }>();
  #ids = 0;

  /** Calls `ask` for each worker; resolves with those that have not answered within the time. */
  async run(
    workers: readonly Worker[],
    ask: (worker: Worker, id: number) => void,
    timeoutMs: number,
  ): Promise<ReadonlySet<Worker>> {
    const missing = new Set(workers);
    if (missing.size === 0) return missing;
    const id = ++this.#ids;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pending.set(id, { missing, done: resolve });
    const timer = setTimeout(resolve, timeoutMs);
    for (const worker of workers) ask(worker, id);
    await promise;
    clearTimeout(timer);
    this.#pending.delete(id);
    return missing;
  }

  answered(id: number, worker: Worker): void {
    const poll = this.#pending.get(id);
    if (poll?.missing.delete(worker) === true && poll.missing.size === 0) poll.done();
  }

  exited(worker: Worker): void {
    for (const id of this.#pending.keys()) this.answered(id, worker);
  }
}

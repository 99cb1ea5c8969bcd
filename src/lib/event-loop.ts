/**
 * Work at the end of an event-loop tick, after the callbacks of all sockets that were readable in it. Work that hands a
 * batch to another thread runs first, then work that occupies this thread: the other thread computes meanwhile, and its
 * result is there in the next tick instead of the one after.
 */
export class EndOfTick {
  #first: (() => void)[] = [];
  #last: (() => void)[] = [];
  #isScheduled = false;

  /** For batching: collects what arrives in one tick and hands it to another thread at once. */
  readonly handOver = (act: () => void): void => {
    this.#first.push(act);
    this.#schedule();
  };

  /** For work on this thread that batches should not wait for. */
  readonly work = (act: () => void): void => {
    this.#last.push(act);
    this.#schedule();
  };

  /** Whether such work is scheduled in this tick, so that the next tick begins late. */
  get hasWork(): boolean {
    return this.#last.length > 0;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Two immediates: promises that the first settles run their continuations before the second begins.
    setImmediate(this.#runFirst);
    setImmediate(this.#runLast);
  }

  readonly #runFirst = (): void => {
    const acts = this.#first;
    this.#first = [];
    runAll(acts);
  };

  readonly #runLast = (): void => {
    const acts = this.#last;
    this.#last = [];
    this.#isScheduled = false;
    // Batches that were scheduled meanwhile belong to the next tick.
    if (this.#first.length > 0) this.#schedule();
    runAll(acts);
  };
}

/** A callback that throws does not keep the others from running; its error is an uncaught exception as usual. */
function runAll(acts: readonly (() => void)[]): void {
  let done = 0;
  try {
    for (const act of acts) {
      done += 1;
      act();
    }
  } finally {
    if (done < acts.length) setImmediate(runAll, acts.slice(done));
  }
}

/** The event loop owns it: a thread has one loop, and the order of work within a tick is that of all its parts. */
export const endOfTick = new EndOfTick();

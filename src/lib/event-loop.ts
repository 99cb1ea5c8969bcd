/**
 * Work at the end of an event-loop tick, after the callbacks of all sockets that were readable in it. Work that hands a
 * batch to another thread runs first, then work that occupies this thread: the other thread computes meanwhile, and its
 * result is there in the next tick instead of the one after.
 */
let first: (() => void)[] = [];
let last: (() => void)[] = [];
let scheduled = false;

/** For batching: collects what arrives in one tick and hands it to another thread at once. */
export function atEndOfTick(act: () => void): void {
  first.push(act);
  schedule();
}

/** For work on this thread that batches should not wait for. */
export function lastInTick(act: () => void): void {
  last.push(act);
  schedule();
}

/** Whether such work is scheduled in this tick, so that the next tick begins late. */
export const endsWithWork = (): boolean => last.length > 0;

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  // Two immediates: promises that the first settles run their continuations before the second begins.
  setImmediate(runFirst);
  setImmediate(runLast);
}

function runFirst(): void {
  const acts = first;
  first = [];
  runAll(acts);
}

function runLast(): void {
  const acts = last;
  last = [];
  scheduled = false;
  // Batches that were scheduled meanwhile belong to the next tick.
  if (first.length > 0) schedule();
  runAll(acts);
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

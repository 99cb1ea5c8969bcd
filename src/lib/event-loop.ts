/**
 * What is done at the end of a turn of the event loop, after everything that has arrived in it. There is an order: first
 * what hands work to other threads, then what takes this one for a while. Meanwhile theirs gets done, and its result is there in
 * the next turn; the other way round it would be there in the one after, and whoever waits for it would wait for twice as long.
 */
let first: (() => void)[] = [];
let last: (() => void)[] = [];
let scheduled = false;

/** To gather what comes in one turn, and hand it over at once. */
export function atEndOfTick(act: () => void): void {
  first.push(act);
  schedule();
}

/** For work that others should not have to wait for. */
export function lastInTick(act: () => void): void {
  last.push(act);
  schedule();
}

/** Whether this turn ends with such work, so that the next one begins late. */
export const endsWithWork = (): boolean => last.length > 0;

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  // Two, because promises are settled between them: what waits for the first is started before the second begins.
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
  // What the first ones asked for is for the next turn.
  if (first.length > 0) schedule();
  runAll(acts);
}

/** One that throws ends the process or not, as it would on its own; the others are run all the same. */
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

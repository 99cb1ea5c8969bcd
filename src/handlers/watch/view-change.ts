import type { StoredObject } from '../../objects/stored-object.ts';
import type { Snapshot } from '../../storage/snapshot.ts';
import { candidatesFor, entriesAt, includes, isOver, type Selection } from '../selection.ts';

/** An object that is visible now, or the name of one that is no longer. */
export type Difference = StoredObject | string;

/** How many objects are looked at before anybody waits: about a millisecond. Nearly every change of the rules is smaller. */
const AT_ONCE = 1_000;

/**
 * What takes a caller from one view of a state to another. Found step by step, and once for all who go the same way: a rule
 * for everything may concern a whole fleet, and nobody is to wait until all of that has been looked at.
 */
export class ViewChange {
  readonly #search: Iterator<Difference | undefined>;
  readonly #found: Difference[] = [];
  #isDone = false;

  /** The state must not be written to as long as steps are taken. */
  constructor(state: Snapshot<StoredObject>, before: Selection, after: Selection) {
    this.#search = differences(state, before, after);
    for (let looks = 0; looks < AT_ONCE && !this.#isDone; looks++) this.#look();
  }

  /** True when there is none for certain. */
  get isNothing(): boolean {
    return this.#isDone && this.#found.length === 0;
  }

  /** What became visible, then what no longer is; in between steps on which there was nothing. */
  *steps(): Generator<Difference | undefined> {
    for (let told = 0; ; ) {
      while (told < this.#found.length) yield this.#found[told++];
      if (this.#isDone) return;
      this.#look();
      if (told === this.#found.length) yield undefined;
    }
  }

  #look(): void {
    const { done, value } = this.#search.next();
    if (done === true) this.#isDone = true;
    else if (value !== undefined) this.#found.push(value);
  }
}

/** Costs what may have changed, where the rules can tell, and otherwise what the two views hold; not what the fleet does. */
function* differences(
  state: Snapshot<StoredObject>,
  before: Selection,
  after: Selection,
): Generator<Difference | undefined> {
  if (before.rule === after.rule) return;
  const lookup = before.rule && after.rule?.differsFrom?.(before.rule);
  const entries = lookup && entriesAt(state, after.prefix, lookup);
  for (const entry of entries ?? candidatesFor(state, after)) {
    const isShown = includes(after, entry) && !includes(before, entry) && !isOver(after, entry);
    yield isShown ? entry : undefined;
  }
  for (const entry of entries ?? candidatesFor(state, before)) {
    yield includes(before, entry) && !includes(after, entry) ? entry.name : undefined;
  }
}

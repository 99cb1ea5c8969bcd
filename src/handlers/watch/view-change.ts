import type { ReadableObject, ReadableState } from '../../objects/readable.ts';
import { candidatesFor, entriesAt, hasExpired, includes, type Selection } from '../selection.ts';

/** An object that became visible, or that is no longer visible. */
export interface Difference {
  readonly entry: ReadableObject;
  readonly isShown: boolean;
}

/** Objects that are compared at once, in about a millisecond. Nearly every permission change concerns fewer. */
const COMPARED_AT_ONCE = 1_000;

/**
 * The difference between two views of one state. It is computed object by object as frames are written, because a
 * permission change can concern a whole fleet, and it is computed once for all watchers that have both views.
 */
export class ViewChange {
  readonly #search: Iterator<Difference | undefined>;
  readonly #found: Difference[] = [];
  #isComplete = false;

  /** The state must not change until all differences are found. */
  constructor(state: ReadableState, before: Selection, after: Selection) {
    this.#search = compare(state, before, after);
    for (let compared = 0; compared < COMPARED_AT_ONCE && !this.#isComplete; compared++) this.#compareNext();
  }

  /** True when there is no difference; false also when the search has not ended. */
  get isEmpty(): boolean {
    return this.#isComplete && this.#found.length === 0;
  }

  /** Objects that became visible, then those that no longer are; undefined for a compared object without one. */
  *differences(): Generator<Difference | undefined> {
    for (let index = 0; ; ) {
      while (index < this.#found.length) yield this.#found[index++];
      if (this.#isComplete) return;
      this.#compareNext();
      if (index === this.#found.length) yield undefined;
    }
  }

  #compareNext(): void {
    const { done, value } = this.#search.next();
    if (done === true) this.#isComplete = true;
    else if (value !== undefined) this.#found.push(value);
  }
}

/** Visits only the objects that the two rules can treat differently, where the rules know them, else both views. */
function* compare(state: ReadableState, before: Selection, after: Selection): Generator<Difference | undefined> {
  if (before.rule?.fingerprint === after.rule?.fingerprint) return;
  const lookup = before.rule && after.rule?.differsFrom?.(before.rule);
  const entries = lookup && entriesAt(state, after.prefix, lookup);
  for (const entry of entries ?? candidatesFor(state, after)) {
    const isShown = includes(after, entry) && !includes(before, entry) && !hasExpired(after, entry);
    yield isShown ? { entry, isShown } : undefined;
  }
  for (const entry of entries ?? candidatesFor(state, before)) {
    yield includes(before, entry) && !includes(after, entry) ? { entry, isShown: false } : undefined;
  }
}

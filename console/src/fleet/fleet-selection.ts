import type { ClusterRow, State } from './cluster-row.ts';
import { editRows, type RowChange } from './edit-rows.ts';
import { type FleetFilter, isFiltered, matcherFor, NO_FILTER, orderFor, type RowOrder } from './select-rows.ts';

export type StateCounts = Readonly<Record<State, number>>;

/** What a filter selects, in its order. */
export interface Selected {
  readonly rows: readonly ClusterRow[];
  /** Of what is found in any state. */
  readonly counts: StateCounts;
}

/**
 * The rows in order, and those among them that a filter finds. Changes are worked in: however large the fleet is, nothing
 * is sorted or searched again because of them.
 */
export class FleetSelection {
  #filter: FleetFilter = NO_FILTER;
  #order: RowOrder = orderFor(NO_FILTER);
  #matches = matcherFor(NO_FILTER);
  #ordered: readonly ClusterRow[] = [];
  /** Those that are shown; the same list as `#ordered` where that is everything. */
  #shown: readonly ClusterRow[] = this.#ordered;
  #counts: Record<State, number> = noCounts();
  #selected: Selected | undefined;

  get size(): number {
    return this.#ordered.length;
  }

  /** The same object until something has changed. */
  select(filter: FleetFilter): Selected {
    if (filter !== this.#filter) this.#refine(filter);
    this.#selected ??= { rows: this.#shown, counts: { ...this.#counts } };
    return this.#selected;
  }

  change(changes: readonly RowChange[]): void {
    if (changes.length === 0) return;
    this.#selected = undefined;
    const showsAll = this.#shown === this.#ordered;
    this.#ordered = editRows(this.#ordered, this.#order, changes);
    const found = changes.map(({ before, after }) => ({ before: this.#found(before), after: this.#found(after) }));
    for (const { before, after } of found) {
      if (before !== undefined) this.#counts[before.state]--;
      if (after !== undefined) this.#counts[after.state]++;
    }
    this.#shown = showsAll
      ? this.#ordered
      : editRows(
          this.#shown,
          this.#order,
          found.map(({ before, after }) => ({ before: this.#inState(before), after: this.#inState(after) })),
        );
  }

  #found(row: ClusterRow | undefined): ClusterRow | undefined {
    return row !== undefined && this.#matches(row) ? row : undefined;
  }

  #inState(row: ClusterRow | undefined): ClusterRow | undefined {
    const { state } = this.#filter;
    return state === undefined || row?.state === state ? row : undefined;
  }

  #refine(filter: FleetFilter): void {
    const { sort, descending } = this.#filter;
    this.#filter = filter;
    this.#matches = matcherFor(filter);
    if (filter.sort !== sort || filter.descending !== descending) {
      this.#order = orderFor(filter);
      this.#ordered = this.#ordered.toSorted(this.#order);
    }
    this.#selected = undefined;
    this.#counts = noCounts();
    const found = isFiltered(filter) ? this.#ordered.filter(this.#matches) : this.#ordered;
    for (const { state } of found) this.#counts[state]++;
    this.#shown = filter.state === undefined ? found : found.filter(({ state }) => state === filter.state);
  }
}

const noCounts = (): Record<State, number> => ({ ready: 0, 'not-ready': 0, unknown: 0 });

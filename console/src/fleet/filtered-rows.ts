import type { ClusterRow, Readiness } from './cluster-row.ts';
import { queryOf } from './filter-query.ts';
import { type FleetFilter, isFiltered, matcherFor, NO_FILTER, orderFor } from './fleet-filter.ts';

export type ReadinessCounts = Readonly<Record<Readiness, number>>;

/** A cluster before and after a change; undefined if it did not exist or does not exist any more. */
export interface RowChange {
  readonly before: ClusterRow | undefined;
  readonly after: ClusterRow | undefined;
}

export interface FilterResult {
  /** The rows that match the filter, in its order. */
  readonly rows: readonly ClusterRow[];
  /** The rows that match search and labels, by readiness. */
  readonly counts: ReadinessCounts;
}

/** All rows in the order of the filter, and the rows that match it. */
export class FilteredRows {
  #filter: FleetFilter = NO_FILTER;
  #sorted: readonly ClusterRow[] = [];
  /** Made when it is asked for, after a change of the rows or the filter. */
  #result: FilterResult | undefined;

  select(filter: FleetFilter): FilterResult {
    const { sort, descending } = this.#filter;
    if (queryOf(filter) !== queryOf(this.#filter)) this.#result = undefined;
    this.#filter = filter;
    if (filter.sort !== sort || filter.descending !== descending)
      this.#sorted = this.#sorted.toSorted(orderFor(filter));
    this.#result ??= this.#filtered();
    return this.#result;
  }

  /** Rows that stay are in order. Sorting merges the others into them, in some milliseconds for ten thousand. */
  change(changes: readonly RowChange[]): void {
    if (changes.length === 0) return;
    const order = orderFor(this.#filter);
    const gone = new Set(changes.map(({ before }) => before));
    const added = changes.flatMap(({ after }) => after ?? []);
    this.#sorted = [...this.#sorted.filter((row) => !gone.has(row)), ...added].sort(order);
    this.#result = undefined;
  }

  #filtered(): FilterResult {
    const { readiness } = this.#filter;
    const matching = isFiltered(this.#filter) ? this.#sorted.filter(matcherFor(this.#filter)) : this.#sorted;
    const counts = { ready: 0, 'not-ready': 0, unknown: 0 };
    for (const row of matching) counts[row.readiness]++;
    const rows = readiness === undefined ? matching : matching.filter((row) => row.readiness === readiness);
    return { rows, counts };
  }
}

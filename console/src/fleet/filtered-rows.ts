import type { ClusterRow, Readiness } from './cluster-row.ts';
import { type FleetFilter, isFiltered, matcherFor, NO_FILTER, orderFor, type RowOrder } from './fleet-filter.ts';

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

/**
 * All rows in the order of the filter, and the rows that match it. Changes are merged into the sorted lists. Only a new
 * filter searches or sorts all rows.
 */
export class FilteredRows {
  #filter: FleetFilter = NO_FILTER;
  #order: RowOrder = orderFor(NO_FILTER);
  #matches = matcherFor(NO_FILTER);
  #sorted: readonly ClusterRow[] = [];
  #visible: readonly ClusterRow[] = [];
  #counts: Record<Readiness, number> = noCounts();

  get size(): number {
    return this.#sorted.length;
  }

  select(filter: FleetFilter): FilterResult {
    if (!isSameFilter(filter, this.#filter)) this.#setFilter(filter);
    return { rows: this.#visible, counts: { ...this.#counts } };
  }

  change(changes: readonly RowChange[]): void {
    if (changes.length === 0) return;
    this.#sorted = applyChanges(this.#sorted, this.#order, changes);
    const matching = changes.map(({ before, after }) => ({ before: this.#match(before), after: this.#match(after) }));
    for (const { before, after } of matching) {
      if (before !== undefined) this.#counts[before.readiness]--;
      if (after !== undefined) this.#counts[after.readiness]++;
    }
    this.#visible = isFiltered(this.#filter)
      ? applyChanges(
          this.#visible,
          this.#order,
          matching.map(({ before, after }) => ({
            before: this.#matchReadiness(before),
            after: this.#matchReadiness(after),
          })),
        )
      : this.#sorted;
  }

  #match(row: ClusterRow | undefined): ClusterRow | undefined {
    return row !== undefined && this.#matches(row) ? row : undefined;
  }

  #matchReadiness(row: ClusterRow | undefined): ClusterRow | undefined {
    const { readiness } = this.#filter;
    return readiness === undefined || row?.readiness === readiness ? row : undefined;
  }

  #setFilter(filter: FleetFilter): void {
    const { sort, descending } = this.#filter;
    this.#filter = filter;
    this.#matches = matcherFor(filter);
    if (filter.sort !== sort || filter.descending !== descending) {
      this.#order = orderFor(filter);
      this.#sorted = this.#sorted.toSorted(this.#order);
    }
    this.#counts = noCounts();
    const matching = isFiltered(filter) ? this.#sorted.filter(this.#matches) : this.#sorted;
    for (const { readiness } of matching) this.#counts[readiness]++;
    this.#visible =
      filter.readiness === undefined ? matching : matching.filter(({ readiness }) => readiness === filter.readiness);
  }
}

const noCounts = (): Record<Readiness, number> => ({ ready: 0, 'not-ready': 0, unknown: 0 });

const isSameFilter = (a: FleetFilter, b: FleetFilter): boolean =>
  a.search === b.search &&
  a.readiness === b.readiness &&
  a.labels.join('\n') === b.labels.join('\n') &&
  a.sort === b.sort &&
  a.descending === b.descending;

/** Inserts `row` before `index` of the old list, or removes the row at `index` if `row` is undefined. */
interface Edit {
  readonly index: number;
  readonly row: ClusterRow | undefined;
}

/**
 * Applies changes to a sorted list: a binary search for each change, then one copy of the list. Splicing each change
 * into the list takes ten times as long.
 */
function applyChanges(
  rows: readonly ClusterRow[],
  order: RowOrder,
  changes: readonly RowChange[],
): readonly ClusterRow[] {
  const next = [...rows];
  const edits: Edit[] = [];
  for (const { before, after } of changes) {
    const index = before === undefined ? -1 : insertionIndex(rows, order, before);
    if (before !== undefined && after !== undefined && order(before, after) === 0) {
      next[index] = after;
      continue;
    }
    if (before !== undefined) edits.push({ index, row: undefined });
    if (after !== undefined) edits.push({ index: insertionIndex(rows, order, after), row: after });
  }
  if (edits.length === 0) return next;
  // Insertions before removals at the same index: the index was computed while the removed row was still there.
  const rank = ({ row }: Edit): number => (row === undefined ? 1 : 0);
  edits.sort(
    (a, b) =>
      a.index - b.index || (a.row === undefined || b.row === undefined ? rank(a) - rank(b) : order(a.row, b.row)),
  );
  const result: ClusterRow[] = [];
  let copied = 0;
  for (const { index, row } of edits) {
    for (; copied < index; copied++) result.push(next[copied] as ClusterRow);
    if (row === undefined) copied++;
    else result.push(row);
  }
  for (; copied < next.length; copied++) result.push(next[copied] as ClusterRow);
  return result;
}

/** The index of the first row that does not sort before `row`. */
function insertionIndex(rows: readonly ClusterRow[], order: RowOrder, row: ClusterRow): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (order(rows[middle] as ClusterRow, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

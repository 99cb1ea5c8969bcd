import { type ClusterRow, STATES, type State } from './cluster-row.ts';

export type SortColumn = 'name' | 'state' | 'since' | 'type' | 'version' | 'environment' | 'region' | 'endpoint';

export interface FleetFilter {
  /** Words that all must occur. */
  readonly search: string;
  readonly state: State | undefined;
  /** `key=value`, all of which must match; several of one key are alternatives. */
  readonly labels: readonly string[];
  readonly sort: SortColumn;
  readonly descending: boolean;
}

export const NO_FILTER: FleetFilter = { search: '', state: undefined, labels: [], sort: 'name', descending: false };

export const isFiltered = ({ search, state, labels }: FleetFilter): boolean =>
  search.trim() !== '' || state !== undefined || labels.length > 0;

/** Whether a row is found, whatever its state: the counts by state are counts of what this finds. */
export function matcherFor(filter: Pick<FleetFilter, 'search' | 'labels'>): (row: ClusterRow) => boolean {
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = [...Map.groupBy(filter.labels, (label) => label.slice(0, label.indexOf('='))).values()];
  if (words.length === 0 && wanted.length === 0) return () => true;
  return (row) =>
    words.every((word) => row.searched.includes(word)) &&
    wanted.every((labels) => labels.some((label) => row.labelTexts.includes(label)));
}

const KEYS: Readonly<Record<SortColumn, (row: ClusterRow) => string | number>> = {
  name: (row) => row.nameKey,
  // What needs attention first.
  state: (row) => 2 - STATES.indexOf(row.state),
  since: (row) => -row.since,
  type: (row) => row.type,
  version: (row) => row.versionKey,
  environment: (row) => row.environment,
  region: (row) => row.region,
  endpoint: (row) => row.endpoint,
};

export type RowOrder = (a: ClusterRow, b: ClusterRow) => number;

/** No two clusters are equal in it: each has one place, which can be found again. */
export function orderFor({ sort, descending }: Pick<FleetFilter, 'sort' | 'descending'>): RowOrder {
  const key = KEYS[sort];
  const sign = descending ? -1 : 1;
  return (a, b) => {
    const left = key(a);
    const right = key(b);
    if (left !== right) return left < right ? -sign : sign;
    if (a.nameKey !== b.nameKey) return a.nameKey < b.nameKey ? -1 : 1;
    return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  };
}

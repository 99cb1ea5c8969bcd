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

/** What matches, whatever its state: the counts by state are counts of these. */
export function matchingRows(
  rows: readonly ClusterRow[],
  filter: Pick<FleetFilter, 'search' | 'labels'>,
): ClusterRow[] {
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = Map.groupBy(filter.labels, (label) => label.slice(0, label.indexOf('=')));
  return rows.filter(
    (row) =>
      words.every((word) => row.searched.includes(word)) &&
      [...wanted].every(([key, labels]) => labels.includes(`${key}=${row.labels[key] ?? ''}`)),
  );
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

export function sortRows(rows: readonly ClusterRow[], { sort, descending }: FleetFilter): ClusterRow[] {
  const key = KEYS[sort];
  const sign = descending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left !== right) return left < right ? -sign : sign;
    return a.nameKey < b.nameKey ? -1 : 1;
  });
}

export type StateCounts = Readonly<Record<State, number>>;

export function countStates(rows: readonly ClusterRow[]): StateCounts {
  const counts = { ready: 0, 'not-ready': 0, unknown: 0 };
  for (const { state } of rows) counts[state]++;
  return counts;
}

export interface EnvironmentCount {
  /** `""` for clusters that do not say. */
  readonly name: string;
  readonly counts: StateCounts;
  readonly total: number;
  /** The label that selects them; undefined when there is none, or when they differ. */
  readonly label: string | undefined;
}

/** By environment, the largest first; beyond `most` the rest is one. */
export function countEnvironments(
  rows: readonly ClusterRow[],
  labelOf: (row: ClusterRow) => string | undefined,
  most: number,
): EnvironmentCount[] {
  const groups = [...Map.groupBy(rows, (row) => row.environment)]
    .map(([name, members]) => {
      const key = members[0] === undefined ? undefined : labelOf(members[0]);
      const label = key === undefined || name === '' ? undefined : `${key}=${name}`;
      return { name, counts: countStates(members), total: members.length, label };
    })
    .sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
  if (groups.length <= most) return groups;
  const rest = groups.slice(most - 1);
  const sum = (state: State): number => rest.reduce((total, { counts }) => total + counts[state], 0);
  const counts = { ready: sum('ready'), 'not-ready': sum('not-ready'), unknown: sum('unknown') };
  const total = rest.reduce((all, group) => all + group.total, 0);
  return [...groups.slice(0, most - 1), { name: `${rest.length} others`, counts, total, label: undefined }];
}

/** Labels to choose from: the commonest values of keys that tell clusters apart. */
export function commonLabels(rows: readonly ClusterRow[], most: number): { label: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { labels } of rows) {
    for (const [key, value] of Object.entries(labels)) {
      const label = `${key}=${value}`;
      counts.set(label, (counts.get(label) ?? 0) + 1);
    }
  }
  return [...counts]
    .map(([label, count]) => ({ label, count }))
    .sort((a, b) => b.count - a.count || (a.label < b.label ? -1 : 1))
    .slice(0, most)
    .sort((a, b) => (a.label < b.label ? -1 : 1));
}

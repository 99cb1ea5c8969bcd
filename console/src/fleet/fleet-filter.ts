import { conditionOf } from '../../../src/api/clusters/conditions.ts';
import { minorOf } from '../../../src/api/kubernetes-support.ts';
import { endpointsInForce } from '../../../src/client/index.ts';
import { bundleEnd } from '../certificates/certificates.ts';
import { type ClusterRow, READINESS, type Readiness } from './cluster-row.ts';

/** In the order of the table. */
export const SORT_COLUMNS = [
  'name',
  'readiness',
  'since',
  'type',
  'version',
  'environment',
  'region',
  'endpoint',
] as const;

export type SortColumn = (typeof SORT_COLUMNS)[number];

/** What the table shows, and in which order. */
export interface FleetFilter {
  /** Words separated by spaces. A row must contain all of them. */
  readonly search: string;
  readonly readiness: Readiness | undefined;
  /** `key=value`, or a fact. A row must match every key; several values of one key are alternatives. */
  readonly labels: readonly string[];
  readonly sort: SortColumn;
  readonly descending: boolean;
}

export const NO_FILTER: FleetFilter = { search: '', readiness: undefined, labels: [], sort: 'name', descending: false };

/** What is asked like a label and is none: keys of labels have no `@`. */
const FACTS: Readonly<Record<string, (row: ClusterRow, value: string) => boolean>> = {
  '@reason': ({ cluster }, value) => (conditionOf(cluster.status ?? {}, 'Ready')?.reason ?? '') === value,
  '@version': ({ cluster }, value) => minorOf(cluster.status?.version ?? '') === value,
  '@ca-ends-within': ({ cluster }, days) =>
    bundleEnd(endpointsInForce(cluster).caBundle ?? '') - Date.now() < Number.parseInt(days, 10) * 86_400_000,
};

export const isFiltered = ({ search, readiness, labels }: FleetFilter): boolean =>
  search.trim() !== '' || readiness !== undefined || labels.length > 0;

/** Matches search and labels only: the tiles count the matching rows of each readiness. */
export function matcherFor(filter: Pick<FleetFilter, 'search' | 'labels'>): (row: ClusterRow) => boolean {
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  const labelsByKey = [...Map.groupBy(filter.labels, (label) => label.slice(0, label.indexOf('=')))];
  if (words.length === 0 && labelsByKey.length === 0) return () => true;
  return (row) =>
    words.every((word) => row.searchText.includes(word)) &&
    labelsByKey.every(([key, labels]) =>
      labels.some((label) =>
        key.startsWith('@') ? FACTS[key]?.(row, label.slice(key.length + 1)) : row.labelTexts.includes(label),
      ),
    );
}

const SORT_KEYS: Readonly<Record<SortColumn, (row: ClusterRow) => string | number>> = {
  name: (row) => row.nameKey,
  // Clusters that need attention come first.
  readiness: (row) => READINESS.length - READINESS.indexOf(row.readiness),
  since: (row) => -row.since,
  type: (row) => row.type,
  version: (row) => row.versionKey,
  environment: (row) => row.environment,
  region: (row) => row.region,
  endpoint: (row) => row.endpoint,
};

type RowOrder = (a: ClusterRow, b: ClusterRow) => number;

/** A total order: no two clusters compare as equal, so a list of clusters has one order. */
export function orderFor({ sort, descending }: Pick<FleetFilter, 'sort' | 'descending'>): RowOrder {
  const key = SORT_KEYS[sort];
  const sign = descending ? -1 : 1;
  return (a, b) => {
    const left = key(a);
    const right = key(b);
    if (left !== right) return left < right ? -sign : sign;
    if (a.nameKey !== b.nameKey) return a.nameKey < b.nameKey ? -1 : 1;
    return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  };
}

import { type ClusterRow, environmentKey, type Readiness } from './cluster-row.ts';
import type { ReadinessCounts, RowChange } from './filtered-rows.ts';

export interface EnvironmentCount {
  /** `""` for clusters without an environment label. */
  readonly name: string;
  readonly counts: ReadinessCounts;
  readonly total: number;
  /** The label that selects these clusters; undefined if they have none, or if they use different keys. */
  readonly label: string | undefined;
}

interface LabelCount {
  readonly label: string;
  readonly count: number;
}

interface Environment {
  readonly counts: Record<Readiness, number>;
  total: number;
  /** The number of clusters for each label key that names the environment. */
  readonly keys: Map<string, number>;
}

/** Counts of all clusters, independent of the filter. Updated from changes, never recounted. */
export class FleetTotals {
  readonly #labels = new Map<string, number>();
  readonly #environments = new Map<string, Environment>();
  // The two lists are kept until their content changes, because useSyncExternalStore compares the labels by reference,
  // and React.memo of ReadinessChart the environments.
  #labelList: { readonly limit: number; readonly part: string; readonly list: readonly LabelCount[] } | undefined;
  #environmentList: { readonly limit: number; readonly list: readonly EnvironmentCount[] } | undefined;

  change(changes: readonly RowChange[]): void {
    for (const { before, after } of changes) {
      if (before === undefined || after === undefined || !hasSameLabels(before, after)) {
        for (const label of before?.labelTexts ?? []) add(this.#labels, label, -1);
        for (const label of after?.labelTexts ?? []) add(this.#labels, label, 1);
        this.#labelList = undefined;
      } else if (before.readiness === after.readiness) continue;
      if (before !== undefined) this.#count(before, -1);
      if (after !== undefined) this.#count(after, 1);
      this.#environmentList = undefined;
    }
  }

  #count(row: ClusterRow, step: 1 | -1): void {
    const environment = this.#environments.get(row.environment) ?? {
      counts: { ready: 0, 'not-ready': 0, unknown: 0 },
      total: 0,
      keys: new Map(),
    };
    environment.counts[row.readiness] += step;
    environment.total += step;
    add(environment.keys, environmentKey(row), step);
    if (environment.total === 0) this.#environments.delete(row.environment);
    else this.#environments.set(row.environment, environment);
  }

  /**
   * The largest environments first. Beyond `limit` they are merged into one entry: first the smallest of those in which
   * every cluster is ready.
   */
  environments(limit: number): readonly EnvironmentCount[] {
    if (this.#environmentList?.limit !== limit) {
      const groups = [...this.#environments]
        .map(([name, { counts, total, keys }]) => ({ name, counts: { ...counts }, total, label: labelOf(name, keys) }))
        .sort(largestFirst);
      this.#environmentList = { limit, list: groups.length <= limit ? groups : mergeOthers(groups, limit) };
    }
    return this.#environmentList.list;
  }

  /** The most common labels that contain `part`, sorted by name. */
  commonLabels(limit: number, part = ''): readonly LabelCount[] {
    if (this.#labelList?.limit !== limit || this.#labelList.part !== part) {
      const labels: LabelCount[] = [];
      for (const [label, count] of this.#labels) {
        if (label.includes(part)) insertTop(labels, { label, count }, limit);
      }
      this.#labelList = { limit, part, list: labels.sort((a, b) => (a.label < b.label ? -1 : 1)) };
    }
    return this.#labelList.list;
  }
}

function add(counts: Map<string, number>, key: string, step: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + step;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const hasSameLabels = ({ labelTexts: a }: ClusterRow, { labelTexts: b }: ClusterRow): boolean =>
  a.length === b.length && a.every((text, index) => text === b[index]);

function labelOf(name: string, keys: ReadonlyMap<string, number>): string | undefined {
  const [key = ''] = keys.keys();
  return keys.size === 1 && key !== '' ? `${key}=${name}` : undefined;
}

const largestFirst = (a: EnvironmentCount, b: EnvironmentCount): number =>
  b.total - a.total || (a.name < b.name ? -1 : 1);

function mergeOthers(groups: readonly EnvironmentCount[], limit: number): EnvironmentCount[] {
  const failingFirst = groups.toSorted((a, b) => b.counts['not-ready'] - a.counts['not-ready']);
  const rest = failingFirst.slice(limit - 1);
  const sum = (readiness: Readiness): number => rest.reduce((total, { counts }) => total + counts[readiness], 0);
  const counts = { ready: sum('ready'), 'not-ready': sum('not-ready'), unknown: sum('unknown') };
  const total = rest.reduce((all, group) => all + group.total, 0);
  return [
    ...failingFirst.slice(0, limit - 1).sort(largestFirst),
    { name: `${rest.length} others`, counts, total, label: undefined },
  ];
}

const isMoreCommon = (a: LabelCount, b: LabelCount): boolean =>
  a.count === b.count ? a.label < b.label : a.count > b.count;

/** Keeps the `limit` most common labels. A fleet can have one label for each cluster: sorting all of them is slow. */
function insertTop(top: LabelCount[], candidate: LabelCount, limit: number): void {
  const last = top.at(-1);
  if (top.length === limit && last !== undefined && !isMoreCommon(candidate, last)) return;
  const index = top.findLastIndex((each) => isMoreCommon(each, candidate)) + 1;
  top.splice(index, 0, candidate);
  if (top.length > limit) top.pop();
}

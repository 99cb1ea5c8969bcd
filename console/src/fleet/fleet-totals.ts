import type { ClusterRow, Readiness } from './cluster-row.ts';
import type { ReadinessCounts, RowChange } from './filtered-rows.ts';

export interface EnvironmentCount {
  /** `""` for clusters without an environment label. */
  readonly name: string;
  readonly counts: ReadinessCounts;
  readonly total: number;
}

interface LabelCount {
  readonly label: string;
  readonly count: number;
}

interface Environment {
  readonly counts: Record<Readiness, number>;
  total: number;
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
        for (const label of before?.labelTexts ?? []) this.#countLabel(label, -1);
        for (const label of after?.labelTexts ?? []) this.#countLabel(label, 1);
        this.#labelList = undefined;
      } else if (before.readiness === after.readiness) continue;
      if (before !== undefined) this.#count(before, -1);
      if (after !== undefined) this.#count(after, 1);
      this.#environmentList = undefined;
    }
  }

  #countLabel(label: string, step: 1 | -1): void {
    const count = (this.#labels.get(label) ?? 0) + step;
    if (count === 0) this.#labels.delete(label);
    else this.#labels.set(label, count);
  }

  #count(row: ClusterRow, step: 1 | -1): void {
    const none = { counts: { ready: 0, 'not-ready': 0, unknown: 0 }, total: 0 };
    const environment = this.#environments.get(row.environment) ?? none;
    environment.counts[row.readiness] += step;
    environment.total += step;
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
        .map(([name, { counts, total }]) => ({ name, counts: { ...counts }, total }))
        .sort(largestFirst);
      this.#environmentList = { limit, list: groups.length <= limit ? groups : mergeOthers(groups, limit) };
    }
    return this.#environmentList.list;
  }

  /** The most common labels that contain `part`, sorted by name. */
  commonLabels(limit: number, part = ''): readonly LabelCount[] {
    if (this.#labelList?.limit !== limit || this.#labelList.part !== part) {
      const labels = [...this.#labels].flatMap(([label, count]) => (label.includes(part) ? [{ label, count }] : []));
      const common = labels.sort((a, b) => b.count - a.count || byLabel(a, b)).slice(0, limit);
      this.#labelList = { limit, part, list: common.sort(byLabel) };
    }
    return this.#labelList.list;
  }
}

const byLabel = (a: LabelCount, b: LabelCount): number => (a.label < b.label ? -1 : 1);

const hasSameLabels = ({ labelTexts: a }: ClusterRow, { labelTexts: b }: ClusterRow): boolean =>
  a.length === b.length && a.every((text, index) => text === b[index]);

const largestFirst = (a: EnvironmentCount, b: EnvironmentCount): number =>
  b.total - a.total || (a.name < b.name ? -1 : 1);

function mergeOthers(groups: readonly EnvironmentCount[], limit: number): EnvironmentCount[] {
  const failingFirst = groups.toSorted((a, b) => b.counts['not-ready'] - a.counts['not-ready']);
  const rest = failingFirst.slice(limit - 1);
  const sum = (readiness: Readiness): number => rest.reduce((total, { counts }) => total + counts[readiness], 0);
  const counts = { ready: sum('ready'), 'not-ready': sum('not-ready'), unknown: sum('unknown') };
  const total = rest.reduce((all, group) => all + group.total, 0);
  return [...failingFirst.slice(0, limit - 1).sort(largestFirst), { name: `${rest.length} others`, counts, total }];
}

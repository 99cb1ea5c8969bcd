import { type ClusterRow, environmentKey, type State } from './cluster-row.ts';
import type { RowChange } from './edit-rows.ts';
import type { StateCounts } from './fleet-selection.ts';

export interface EnvironmentCount {
  /** `""` for clusters that do not say. */
  readonly name: string;
  readonly counts: StateCounts;
  readonly total: number;
  /** The label that selects them; undefined when there is none, or when they differ. */
  readonly label: string | undefined;
}

export interface LabelCount {
  readonly label: string;
  readonly count: number;
}

interface Environment {
  readonly counts: Record<State, number>;
  total: number;
  /** How many were found by which label. */
  readonly keys: Map<string, number>;
}

/** Counts over the whole fleet, kept by adding and taking away. */
export class FleetTotals {
  readonly #labels = new Map<string, number>();
  readonly #environments = new Map<string, Environment>();
  #common: { readonly most: number; readonly labels: readonly LabelCount[] } | undefined;
  #shown: { readonly most: number; readonly environments: readonly EnvironmentCount[] } | undefined;

  change(changes: readonly RowChange[]): void {
    for (const { before, after } of changes) {
      if (before === undefined || after === undefined || !sameTexts(before.labelTexts, after.labelTexts)) {
        for (const label of before?.labelTexts ?? []) add(this.#labels, label, -1);
        for (const label of after?.labelTexts ?? []) add(this.#labels, label, 1);
        this.#common = undefined;
      } else if (before.state === after.state) continue;
      if (before !== undefined) this.#count(before, -1);
      if (after !== undefined) this.#count(after, 1);
      this.#shown = undefined;
    }
  }

  #count(row: ClusterRow, step: 1 | -1): void {
    const environment = this.#environments.get(row.environment) ?? {
      counts: { ready: 0, 'not-ready': 0, unknown: 0 },
      total: 0,
      keys: new Map(),
    };
    environment.counts[row.state] += step;
    environment.total += step;
    add(environment.keys, environmentKey(row), step);
    if (environment.total === 0) this.#environments.delete(row.environment);
    else this.#environments.set(row.environment, environment);
  }

  /** The largest first; beyond `most` the rest is one. The same list until something has changed. */
  environments(most: number): readonly EnvironmentCount[] {
    if (this.#shown?.most !== most) {
      const groups = [...this.#environments]
        .map(([name, { counts, total, keys }]) => ({ name, counts: { ...counts }, total, label: labelOf(name, keys) }))
        .sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
      this.#shown = { most, environments: groups.length <= most ? groups : restAsOne(groups, most) };
    }
    return this.#shown.environments;
  }

  /** Labels to choose from: the commonest, in the order of the alphabet. The same list until something has changed. */
  commonLabels(most: number): readonly LabelCount[] {
    if (this.#common?.most !== most) {
      const labels: LabelCount[] = [];
      for (const [label, count] of this.#labels) keepBest(labels, { label, count }, most);
      this.#common = { most, labels: labels.sort((a, b) => (a.label < b.label ? -1 : 1)) };
    }
    return this.#common.labels;
  }
}

function add(counts: Map<string, number>, key: string, step: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + step;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, index) => text === b[index]);

function labelOf(name: string, keys: ReadonlyMap<string, number>): string | undefined {
  const [key = ''] = keys.keys();
  return keys.size === 1 && key !== '' ? `${key}=${name}` : undefined;
}

function restAsOne(groups: readonly EnvironmentCount[], most: number): EnvironmentCount[] {
  const rest = groups.slice(most - 1);
  const sum = (state: State): number => rest.reduce((total, { counts }) => total + counts[state], 0);
  const counts = { ready: sum('ready'), 'not-ready': sum('not-ready'), unknown: sum('unknown') };
  const total = rest.reduce((all, group) => all + group.total, 0);
  return [...groups.slice(0, most - 1), { name: `${rest.length} others`, counts, total, label: undefined }];
}

const isBetter = (a: LabelCount, b: LabelCount): boolean =>
  a.count === b.count ? a.label < b.label : a.count > b.count;

/** Where every cluster has a label of its own there are as many as clusters: sorting them all would show. */
function keepBest(best: LabelCount[], found: LabelCount, most: number): void {
  const last = best.at(-1);
  if (best.length === most && last !== undefined && !isBetter(found, last)) return;
  const at = best.findLastIndex((each) => isBetter(each, found)) + 1;
  best.splice(at, 0, found);
  if (best.length > most) best.pop();
}

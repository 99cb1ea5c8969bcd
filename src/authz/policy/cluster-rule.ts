import { hash } from 'node:crypto';
import { NAME_LABEL } from '../../api/clusters-field.ts';
import {
  ALL_VISIBLE,
  type ClusterLabels,
  type ClusterVisibility,
  NONE_VISIBLE,
  type ObjectLookup,
  type VisibilityRule,
} from '../../api/visibility.ts';
import {
  type ClusterSelector,
  type ClusterView,
  labelText,
  type RequiredLabel,
  viewCluster,
} from './cluster-selector.ts';

export type VisibilityVerb = Parameters<ClusterVisibility['ruleFor']>[1];

/** A rule that allows the verb on clusters, and where its binding holds. */
export interface RuleGrant {
  /** The rule's resourceNames; undefined when it is not restricted to names. */
  readonly names: ReadonlySet<string> | undefined;
  /** The binding's selector; undefined when it holds everywhere. */
  readonly selector: ClusterSelector | undefined;
}

/** Clusters that have one of the names (any name when undefined) and that the selector matches. */
interface Clause {
  readonly names: ReadonlySet<string> | undefined;
  readonly selector: ClusterSelector;
}

/** Grants without duplicates, as far as their text tells. One that admits a cluster is enough. */
interface Clauses {
  readonly all: boolean;
  /** Admitted by name alone, sorted. */
  readonly names: readonly string[];
  readonly selected: readonly Clause[];
}

const EVERYTHING: Clauses = { all: true, names: [], selected: [] };

function simplify(grants: Iterable<RuleGrant>): Clauses {
  const names = new Set<string>();
  const selected = new Map<string, { names: Set<string> | undefined; selector: ClusterSelector }>();
  for (const grant of grants) {
    const { selector } = grant;
    if (selector === undefined || selector.text === '') {
      if (grant.names === undefined) return EVERYTHING;
      for (const name of grant.names) names.add(name);
      continue;
    }
    const bounded = intersect(grant.names, namesIn(selector));
    if (selector.namesOnly && bounded !== undefined) {
      for (const name of bounded) if (selector.holdsIn(viewCluster(name, undefined))) names.add(name);
      continue;
    }
    const clause = selected.get(selector.text);
    if (clause === undefined) selected.set(selector.text, { names: bounded && new Set(bounded), selector });
    else if (bounded === undefined) clause.names = undefined;
    else for (const name of bounded) clause.names?.add(name);
  }
  const clauses = [...selected].filter(([, clause]) => clause.names?.size !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
  return { all: false, names: [...names].sort(), selected: clauses.map(([, clause]) => clause) };
}

/** The names that a selector requires one of; undefined when it requires other labels. */
function namesIn({ requiredLabels }: ClusterSelector): ReadonlySet<string> | undefined {
  if (requiredLabels === undefined || requiredLabels[0]?.key !== NAME_LABEL) return undefined;
  return new Set(requiredLabels.map(({ value }) => value));
}

function intersect(
  a: ReadonlySet<string> | undefined,
  b: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return new Set([...a].filter((name) => b.has(name)));
}

/** The clauses for one cluster of this name: names are decided, labels are not. */
function narrow(clauses: Clauses, name: string): Clauses {
  if (clauses.all || clauses.names.includes(name)) return EVERYTHING;
  const selected = clauses.selected.filter((clause) => clause.names?.has(name) ?? true);
  return { all: false, names: [], selected: selected.map(({ selector }) => ({ names: undefined, selector })) };
}

const isNothing = ({ all, names, selected }: Clauses): boolean => !all && names.length === 0 && selected.length === 0;

function clausesText({ all, names, selected }: Clauses): unknown {
  return all || [names, selected.map(clauseText)];
}

/** What a rule is made from. At home the caller is another user, with other grants. */
export interface RuleSource {
  readonly elsewhere: Iterable<RuleGrant>;
  readonly home?: { readonly cluster: string; readonly grants: Iterable<RuleGrant> } | undefined;
}

class ClausesRule implements VisibilityRule {
  readonly fingerprint: string;
  readonly all = false;
  readonly none = false;
  readonly candidates: VisibilityRule['candidates'];
  readonly admitsCandidates: boolean;
  readonly #elsewhere: ClauseIndex;
  readonly #home: { readonly cluster: string; readonly clauses: Clauses } | undefined;

  constructor(elsewhere: Clauses, home: { readonly cluster: string; readonly clauses: Clauses } | undefined) {
    const text = JSON.stringify([clausesText(elsewhere), home && [home.cluster, clausesText(home.clauses)]]);
    this.fingerprint = hash('sha256', text, 'base64url');
    this.#elsewhere = new ClauseIndex(elsewhere);
    this.#home = home;
    this.candidates = this.#elsewhere.candidates(home === undefined || isNothing(home.clauses) ? [] : [home.cluster]);
    // The home cluster is decided by other clauses, even if these labels select it.
    this.admitsCandidates = home === undefined && this.#elsewhere.requiredLabelsSuffice;
  }

  admits(name: string, labels: ClusterLabels | undefined): boolean {
    // Undefined labels mean that the cluster has none, not that it does not exist.
    if (name !== this.#home?.cluster) return this.#elsewhere.admits(name, labels ?? {});
    const { all, selected } = this.#home.clauses;
    if (all || selected.length === 0) return all;
    const view = viewCluster(name, labels ?? {});
    return selected.some(({ selector }) => selector.holdsIn(view));
  }

  differsFrom(other: VisibilityRule): ObjectLookup | undefined {
    if (!(other instanceof ClausesRule) || this.#home !== undefined || other.#home !== undefined) return undefined;
    return this.#elsewhere.differsFrom(other.#elsewhere);
  }
}

/** Clauses by the labels that they require, so that the cost per cluster does not grow with the number of grants. */
class ClauseIndex {
  readonly #all: boolean;
  readonly #names: ReadonlySet<string>;
  /** By key, then by value: V8 interns each text that a map is asked for, and to grow that table takes 70 ms. */
  readonly #byLabel = new Map<string, Map<string, Clause[]>>();
  readonly #unindexed: Clause[] = [];
  readonly #byText = new Map<string, Clause>();
  readonly #required: RequiredLabel[] = [];
  readonly requiredLabelsSuffice: boolean;

  constructor({ all, names, selected }: Clauses) {
    this.#all = all;
    this.#names = new Set(names);
    for (const clause of selected) {
      this.#byText.set(clauseText(clause), clause);
      const required = requiredLabelsOf(clause);
      if (required === undefined) this.#unindexed.push(clause);
      for (const label of required ?? []) {
        const byValue = this.#byLabel.get(label.key) ?? new Map<string, Clause[]>();
        this.#byLabel.set(label.key, byValue);
        const clauses = byValue.get(label.value) ?? [];
        byValue.set(label.value, clauses);
        if (clauses.length === 0) this.#required.push(label);
        clauses.push(clause);
      }
    }
    this.requiredLabelsSuffice = selected.every(
      (clause) => clause.names === undefined && clause.selector.requiredLabelsSuffice,
    );
  }

  admits(name: string, labels: ClusterLabels): boolean {
    if (this.#all || (this.#names.size > 0 && this.#names.has(name))) return true;
    if (this.#unindexed.length === 0 && this.#byLabel.size === 0) return false;
    const view = viewCluster(name, labels);
    if (this.#unindexed.some((clause) => clause.selector.holdsIn(view))) return true;
    if (this.#byLabel.size === 0) return false;
    for (const key in view.labels) {
      const clauses = this.#byLabel.get(key)?.get(view.labels[key] ?? '');
      if (clauses?.some((clause) => admitsBy(clause, view))) return true;
    }
    return false;
  }

  candidates(also: readonly string[]): VisibilityRule['candidates'] {
    if (this.#all || this.#unindexed.length > 0) return undefined;
    return lookupOf([...this.#names, ...also], this.#required);
  }

  /** A clause that both have admits the same clusters in both: only clauses of one of them can make a difference. */
  differsFrom(other: ClauseIndex): ObjectLookup | undefined {
    if (this.#all || other.#all) return undefined;
    const names = [...this.#names.symmetricDifference(other.#names)];
    const required: RequiredLabel[] = [];
    for (const [mine, theirs] of [[this, other] as const, [other, this] as const]) {
      for (const [text, clause] of mine.#byText) {
        if (theirs.#byText.has(text)) continue;
        const own = requiredLabelsOf(clause);
        if (own === undefined) return undefined;
        required.push(...own);
      }
    }
    return lookupOf(names, required);
  }
}

/** A cluster that the clause admits has one of these labels. */
const requiredLabelsOf = ({ names, selector }: Clause): readonly RequiredLabel[] | undefined =>
  names === undefined ? selector.requiredLabels : [...names].map((value) => ({ key: NAME_LABEL, value }));

function lookupOf(names: readonly string[], required: readonly RequiredLabel[]): ObjectLookup {
  const requiredNames = required.filter(({ key }) => key === NAME_LABEL).map(({ value }) => value);
  const labels = new Map(required.filter(({ key }) => key !== NAME_LABEL).map((label) => [labelText(label), label]));
  return { names: [...new Set([...names, ...requiredNames])].sort(), labels: [...labels.values()] };
}

const clauseText = ({ selector, names }: Clause): string => JSON.stringify([selector.text, names && [...names].sort()]);

const admitsBy = ({ names, selector }: Clause, view: ClusterView): boolean =>
  (names?.has(view.name) ?? true) && selector.holdsIn(view);

/** Grants that say the same in another order or in other words give rules of the same fingerprint. */
export function clusterRule(source: RuleSource): VisibilityRule {
  const elsewhere = simplify(source.elsewhere);
  const home = source.home && {
    cluster: source.home.cluster,
    clauses: narrow(simplify(source.home.grants), source.home.cluster),
  };
  if (elsewhere.all && (home?.clauses.all ?? true)) return ALL_VISIBLE;
  if (isNothing(elsewhere) && (home === undefined || isNothing(home.clauses))) return NONE_VISIBLE;
  return new ClausesRule(elsewhere, home);
}

import { ANY, contains, PathSet, type Rule, type StringSet, stringCount, stringSet } from '../policy/rules.ts';

/**
 * Bounds the work of one comparison, in strings compared. Either side may hold a hundred thousand strings, and each of
 * one side may have to be compared with each of the other. This limit takes some 20 ms.
 */
export const MAX_COST = 100_000;
/** A rule costs this much besides its strings, because it is indexed under each of them. */
const RULE_COST = 12;
/** A path that ends in a star costs this much, because prefixes are sorted. */
const PREFIX_COST = 8;

const containsOrAny = (set: StringSet, text: string): boolean => contains(set, ANY) || contains(set, text);

type ResourceRule = Readonly<Record<Dimension, StringSet>> & { readonly isUnnamed: boolean };

interface PathRule {
  readonly verbs: StringSet;
  readonly paths: PathSet;
}

type Dimension = Exclude<keyof Rule, 'nonResourceURLs'>;
const DIMENSIONS: readonly Dimension[] = ['resources', 'resourceNames', 'verbs', 'apiGroups'];
/** So few candidates are compared rather than narrowed down further. */
const FEW = 4;
/** The index key of rules without names. No object has an empty name. */
const UNNAMED = '';

/** What is left of `MAX_COST`. Comparisons of one request share it. */
export interface ComparisonBudget {
  left: number;
}

/** The rules that a caller holds, indexed by their strings: only the rules with the rarest string are compared. */
export class HeldRules {
  readonly #rules: readonly ResourceRule[];
  /** Built for a dimension when it is first needed. */
  readonly #indexes = new Map<Dimension, ReadonlyMap<string, readonly ResourceRule[]>>();
  readonly #paths: readonly PathRule[];
  /** The resources in a held rule that can cover a wanted one. */
  readonly #relevant: ReadonlySet<string>;
  readonly #budget: ComparisonBudget;

  /** Held rules about none of the `wanted` resources are left out. */
  constructor(rules: readonly Rule[], wanted: readonly Rule[], budget: ComparisonBudget = { left: MAX_COST }) {
    this.#budget = budget;
    this.#relevant = new Set(
      wanted.flatMap(({ resources }) => resources.flatMap((each) => covering('resources', each))),
    );
    // A rule that allows everything covers all others, so a caller who holds one never exhausts the budget.
    const everything = rules.find(isEverything);
    this.#rules = (everything === undefined ? rules : [everything]).flatMap((rule) => this.#prepared(rule) ?? []);
    const everyPath = rules.find(isEveryPath);
    this.#paths = this.#pathRules(everyPath === undefined ? rules : [everyPath]);
  }

  /** True once a comparison exceeded the budget; from then on nothing is covered. */
  get isExhausted(): boolean {
    return this.#budget.left < 0;
  }

  /** Whether one held rule allows all that this rule does. It is about resources or about paths, never both. */
  cover(wanted: Rule): boolean {
    if (wanted.nonResourceURLs.length > 0) return this.#paths.some((held) => this.#coversPaths(held, wanted));
    return this.#candidates(wanted).some((held) => this.#covers(held, wanted));
  }

  #prepared(rule: Rule): ResourceRule | undefined {
    const { verbs, apiGroups, resources, resourceNames } = rule;
    const isRelevant = resources.some((resource) => this.#relevant.has(resource));
    if (!isRelevant || !this.#spend(RULE_COST + stringCount(rule))) return undefined;
    return {
      verbs: stringSet(verbs),
      apiGroups: stringSet(apiGroups),
      resources: stringSet(resources),
      resourceNames: stringSet(resourceNames),
      isUnnamed: resourceNames.length === 0,
    };
  }

  #indexOf(dimension: Dimension): ReadonlyMap<string, readonly ResourceRule[]> {
    const existing = this.#indexes.get(dimension);
    if (existing !== undefined) return existing;
    const index = new Map<string, ResourceRule[]>();
    const add = (key: string, held: ResourceRule): void => {
      const list = index.get(key);
      if (list === undefined) index.set(key, [held]);
      else list.push(held);
    };
    for (const held of this.#rules) {
      for (const text of held[dimension]) add(text, held);
      if (dimension === 'resourceNames' && held.isUnnamed) add(UNNAMED, held);
    }
    this.#indexes.set(dimension, index);
    return index;
  }

  /** Rules with the same verbs are merged. A rule with resourceNames covers no path, as in Kubernetes. */
  #pathRules(rules: readonly Rule[]): PathRule[] {
    const byVerbs = new Map<string, { verbs: StringSet; patterns: string[] }>();
    for (const { verbs, resourceNames, nonResourceURLs } of rules) {
      if (nonResourceURLs.length === 0 || resourceNames.length > 0) continue;
      const prefixes = nonResourceURLs.filter((path) => path.endsWith(ANY)).length;
      if (!this.#spend(verbs.length + nonResourceURLs.length + prefixes * PREFIX_COST)) break;
      const text = JSON.stringify(verbs);
      const merged = byVerbs.get(text) ?? { verbs: stringSet(verbs), patterns: [] };
      byVerbs.set(text, merged);
      for (const pattern of nonResourceURLs) merged.patterns.push(pattern);
    }
    return [...byVerbs.values()].map(({ verbs, patterns }) => ({ verbs, paths: new PathSet(patterns) }));
  }

  /** A covering rule covers every string of the wanted one, so it is among the rules that cover the rarest string. */
  #candidates(wanted: Rule): readonly ResourceRule[] {
    let fewest: readonly (readonly ResourceRule[])[] | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const dimension of DIMENSIONS) {
      const texts = dimension === 'resourceNames' && wanted.resourceNames.length === 0 ? [UNNAMED] : wanted[dimension];
      for (const text of texts) {
        const lists = covering(dimension, text).map((each) => this.#indexOf(dimension).get(each) ?? []);
        const size = lists.reduce((sum, list) => sum + list.length, 0);
        if (size === 0) return [];
        if (size < least) [fewest, least] = [lists, size];
        if (least <= FEW) return this.#spend(least) ? (fewest ?? []).flat() : [];
      }
    }
    return this.#spend(Math.min(least, MAX_COST)) ? (fewest ?? []).flat() : [];
  }

  #covers(held: ResourceRule, wanted: Rule): boolean {
    return (
      this.#all(wanted.verbs, (verb) => containsOrAny(held.verbs, verb)) &&
      this.#all(wanted.apiGroups, (group) => containsOrAny(held.apiGroups, group)) &&
      this.#all(wanted.resources, (each) =>
        covering('resources', each).some((text) => contains(held.resources, text)),
      ) &&
      // No names means every name, which only a rule without names covers.
      (held.isUnnamed ||
        (wanted.resourceNames.length > 0 &&
          this.#all(wanted.resourceNames, (name) => contains(held.resourceNames, name))))
    );
  }

  #coversPaths(held: PathRule, wanted: Rule): boolean {
    return (
      this.#all(wanted.verbs, (verb) => containsOrAny(held.verbs, verb)) &&
      this.#all(wanted.nonResourceURLs, (path) => held.paths.matches(path))
    );
  }

  #all(texts: readonly string[], isHeld: (text: string) => boolean): boolean {
    return texts.every((text) => this.#spend(1) && isHeld(text));
  }

  #spend(cost: number): boolean {
    if (this.#budget.left >= 0) this.#budget.left -= cost;
    return this.#budget.left >= 0;
  }
}

/** The strings any of which, in a held rule, covers this one. */
function covering(dimension: Dimension, text: string): string[] {
  if (dimension === 'resourceNames') return text === UNNAMED ? [UNNAMED] : [text, UNNAMED];
  if (text === ANY) return [ANY];
  const slash = dimension === 'resources' ? text.indexOf('/') : -1;
  // `*/scale` is covered by itself and by `*` only.
  if (slash === -1 || text.startsWith('*/')) return [text, ANY];
  return [text, ANY, `*${text.slice(slash)}`];
}

const isEverything = ({ verbs, apiGroups, resources, resourceNames }: Rule): boolean =>
  resourceNames.length === 0 && [verbs, apiGroups, resources].every((list) => list.includes(ANY));

const isEveryPath = ({ verbs, resourceNames, nonResourceURLs }: Rule): boolean =>
  resourceNames.length === 0 && verbs.includes(ANY) && nonResourceURLs.includes(ANY);

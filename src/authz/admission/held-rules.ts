import { ANY, contains, pathMatches, type Rule, type StringSet, stringCount, stringSet } from '../policy/rules.ts';

/**
 * Bounds the work of one comparison, in strings compared. Either side may hold a hundred thousand strings, and each of
 * one side may have to be compared with each of the other. This limit takes some 20 ms.
 */
export const MAX_COST = 100_000;
/** A rule costs this much besides its strings, because it is indexed under each of them. */
const RULE_COST = 12;

const containsOrAny = (set: StringSet, text: string): boolean => contains(set, ANY) || contains(set, text);

interface ResourceRule {
  readonly verbs: StringSet;
  readonly apiGroups: StringSet;
  readonly resources: StringSet;
  /** Undefined: every name. */
  readonly names: StringSet | undefined;
}

/** What is left of `MAX_COST`. Comparisons of one request share it. */
export interface ComparisonBudget {
  left: number;
}

/** The rules that a caller holds. Few of them are compared: those with the rarest resource of a wanted one. */
export class HeldRules {
  readonly #byResource = new Map<string, ResourceRule[]>();
  /** Rules about paths. One with resourceNames covers no path, as in Kubernetes. */
  readonly #paths: readonly Rule[];
  readonly #budget: ComparisonBudget;

  /** Held rules about none of the `wanted` resources are left out. */
  constructor(rules: readonly Rule[], wanted: readonly Rule[], budget: ComparisonBudget = { left: MAX_COST }) {
    this.#budget = budget;
    const relevant = new Set(wanted.flatMap(({ resources }) => resources.flatMap(covering)));
    // A rule that allows everything covers all others, so a caller who holds one never exhausts the budget.
    const everything = rules.find(isEverything);
    for (const rule of everything === undefined ? rules : [everything]) {
      if (rule.resources.some((resource) => relevant.has(resource))) this.#add(rule);
    }
    const everyPath = rules.find(isEveryPath);
    this.#paths = (everyPath === undefined ? rules : [everyPath]).filter(
      ({ resourceNames, nonResourceURLs }) => nonResourceURLs.length > 0 && resourceNames.length === 0,
    );
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

  #add(rule: Rule): void {
    if (!this.#spend(RULE_COST + stringCount(rule))) return;
    const { verbs, apiGroups, resources, resourceNames } = rule;
    const names = resourceNames.length === 0 ? undefined : stringSet(resourceNames);
    const held = { verbs: stringSet(verbs), apiGroups: stringSet(apiGroups), resources: stringSet(resources), names };
    for (const resource of resources) {
      const list = this.#byResource.get(resource);
      if (list === undefined) this.#byResource.set(resource, [held]);
      else list.push(held);
    }
  }

  /** A covering rule has every resource of the wanted one: those with its rarest resource are compared. */
  #candidates({ resources }: Rule): readonly ResourceRule[] {
    const lists = fewest(resources.map((each) => covering(each).map((text) => this.#byResource.get(text) ?? [])));
    return this.#spend(countOf(lists)) ? lists.flat() : [];
  }

  #covers(held: ResourceRule, wanted: Rule): boolean {
    return (
      this.#all(wanted.verbs, (verb) => containsOrAny(held.verbs, verb)) &&
      this.#all(wanted.apiGroups, (group) => containsOrAny(held.apiGroups, group)) &&
      this.#all(wanted.resources, (each) => covering(each).some((text) => contains(held.resources, text))) &&
      // No names means every name, which only a rule for every name covers.
      (held.names === undefined ||
        (wanted.resourceNames.length > 0 &&
          this.#all(wanted.resourceNames, (name) => held.names !== undefined && contains(held.names, name))))
    );
  }

  #coversPaths({ verbs, nonResourceURLs }: Rule, wanted: Rule): boolean {
    return (
      this.#spend(verbs.length) &&
      this.#all(wanted.verbs, (verb) => containsOrAny(verbs, verb)) &&
      this.#all(wanted.nonResourceURLs, (path) => {
        return this.#spend(nonResourceURLs.length) && nonResourceURLs.some((pattern) => pathMatches(pattern, path));
      })
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

type Lists = readonly (readonly ResourceRule[])[];

const countOf = (lists: Lists): number => lists.reduce((sum, list) => sum + list.length, 0);

function fewest(choices: readonly Lists[]): Lists {
  let [least = []] = choices;
  for (const choice of choices) if (countOf(choice) < countOf(least)) least = choice;
  return least;
}

/** The resources any of which, in a held rule, covers this one. */
function covering(resource: string): string[] {
  if (resource === ANY) return [ANY];
  const slash = resource.indexOf('/');
  // `*/scale` is covered by itself and by `*` only.
  if (slash === -1 || resource.startsWith('*/')) return [resource, ANY];
  return [resource, ANY, `*${resource.slice(slash)}`];
}

const isEverything = ({ verbs, apiGroups, resources, resourceNames }: Rule): boolean =>
  resourceNames.length === 0 && [verbs, apiGroups, resources].every((list) => list.includes(ANY));

const isEveryPath = ({ verbs, resourceNames, nonResourceURLs }: Rule): boolean =>
  resourceNames.length === 0 && verbs.includes(ANY) && nonResourceURLs.includes(ANY);

import { PathSet } from './path-set.ts';
import { ANY, type Rule } from './rules.ts';

/**
 * The work of one comparison, in words looked at. Both sides may hold a hundred thousand of them, and each of
 * one side may have to be compared with each of the other.
 */
export const MAX_STEPS = 500_000;

interface ResourceRule {
  readonly verbs: ReadonlySet<string>;
  readonly apiGroups: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
  readonly resourceNames: ReadonlySet<string>;
}

interface PathRule {
  readonly verbs: ReadonlySet<string>;
  readonly paths: PathSet;
}

type Dimension = Exclude<keyof Rule, 'nonResourceURLs'>;
const DIMENSIONS: readonly Dimension[] = ['resources', 'resourceNames', 'verbs', 'apiGroups'];
/** Where rules without names are found among those by name. No object has an empty name. */
const UNNAMED = '';

/** What somebody holds, by the words it is made of: only the rules that have the rarest word are looked at. */
export class HeldRules {
  readonly #rules: Readonly<Record<Dimension, Map<string, ResourceRule[]>>>;
  readonly #paths: readonly PathRule[];
  #left = MAX_STEPS;

  constructor(rules: readonly Rule[]) {
    this.#rules = { resources: new Map(), resourceNames: new Map(), verbs: new Map(), apiGroups: new Map() };
    // Whoever holds everything is never asked for too much, whatever else they hold.
    const everything = rules.find(isEverything);
    for (const rule of everything === undefined ? rules : [everything]) this.#addResources(rule);
    const everyPath = rules.find(isEveryPath);
    this.#paths = this.#pathRules(everyPath === undefined ? rules : [everyPath]);
  }

  /** True when there was more to compare than may be; then nothing more is covered. */
  get isExhausted(): boolean {
    return this.#left < 0;
  }

  /** Whether one held rule says all that this one does; it is about resources or about paths, never both. */
  cover(wanted: Rule): boolean {
    if (wanted.nonResourceURLs.length > 0) return this.#paths.some((held) => this.#coversPaths(held, wanted));
    return this.#candidates(wanted).some((held) => this.#covers(held, wanted));
  }

  #addResources(rule: Rule): void {
    const { verbs, apiGroups, resources, resourceNames } = rule;
    if (resources.length === 0) return;
    if (!this.#spend(verbs.length + apiGroups.length + resources.length + resourceNames.length)) return;
    const held: ResourceRule = {
      verbs: new Set(verbs),
      apiGroups: new Set(apiGroups),
      resources: new Set(resources),
      resourceNames: new Set(resourceNames),
    };
    for (const dimension of DIMENSIONS) {
      for (const word of held[dimension]) this.#file(dimension, word, held);
    }
    if (resourceNames.length === 0) this.#file('resourceNames', UNNAMED, held);
  }

  #file(dimension: Dimension, word: string, held: ResourceRule): void {
    const filed = this.#rules[dimension].get(word);
    if (filed === undefined) this.#rules[dimension].set(word, [held]);
    else filed.push(held);
  }

  /** Rules with the same verbs are one. Names of objects mean nothing to a path, so a rule with some holds none. */
  #pathRules(rules: readonly Rule[]): PathRule[] {
    const byVerbs = new Map<string, { verbs: ReadonlySet<string>; patterns: string[] }>();
    for (const { verbs, resourceNames, nonResourceURLs } of rules) {
      if (nonResourceURLs.length === 0 || resourceNames.length > 0) continue;
      if (!this.#spend(verbs.length + nonResourceURLs.length)) break;
      const text = JSON.stringify(verbs);
      const known = byVerbs.get(text) ?? { verbs: new Set(verbs), patterns: [] };
      byVerbs.set(text, known);
      for (const pattern of nonResourceURLs) known.patterns.push(pattern);
    }
    return [...byVerbs.values()].map(({ verbs, patterns }) => ({ verbs, paths: new PathSet(patterns) }));
  }

  /** Every word must be covered by the rule that is looked for, so the one with the fewest rules will do. */
  #candidates(wanted: Rule): readonly ResourceRule[] {
    let fewest: readonly (readonly ResourceRule[])[] | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const dimension of DIMENSIONS) {
      const words = dimension === 'resourceNames' && wanted.resourceNames.length === 0 ? [UNNAMED] : wanted[dimension];
      for (const word of words) {
        const lists = coveringWords(dimension, word).map((each) => this.#rules[dimension].get(each) ?? []);
        const size = lists.reduce((sum, list) => sum + list.length, 0);
        if (size === 0) return [];
        if (size < least) [fewest, least] = [lists, size];
      }
    }
    return this.#spend(Math.min(least, MAX_STEPS)) ? (fewest ?? []).flat() : [];
  }

  #covers(held: ResourceRule, wanted: Rule): boolean {
    return (
      this.#all(wanted.verbs, (verb) => held.verbs.has(ANY) || held.verbs.has(verb)) &&
      this.#all(wanted.apiGroups, (group) => held.apiGroups.has(ANY) || held.apiGroups.has(group)) &&
      this.#all(wanted.resources, (word) => coveringWords('resources', word).some((w) => held.resources.has(w))) &&
      // No names means every name, and that is covered only by every name.
      (held.resourceNames.size === 0 ||
        (wanted.resourceNames.length > 0 && this.#all(wanted.resourceNames, (name) => held.resourceNames.has(name))))
    );
  }

  #coversPaths(held: PathRule, wanted: Rule): boolean {
    return (
      this.#all(wanted.verbs, (verb) => held.verbs.has(ANY) || held.verbs.has(verb)) &&
      this.#all(wanted.nonResourceURLs, (path) => held.paths.matches(path))
    );
  }

  #all(words: readonly string[], isHeld: (word: string) => boolean): boolean {
    return words.every((word) => this.#spend(1) && isHeld(word));
  }

  #spend(steps: number): boolean {
    if (this.#left >= 0) this.#left -= steps;
    return this.#left >= 0;
  }
}

/** The words in a held rule any of which covers this one. */
function coveringWords(dimension: Dimension, word: string): string[] {
  if (dimension === 'resourceNames') return word === UNNAMED ? [UNNAMED] : [word, UNNAMED];
  const slash = dimension === 'resources' ? word.indexOf('/') : -1;
  const words = slash === -1 ? [word, ANY] : [word, ANY, `*${word.slice(slash)}`];
  return [...new Set(words)];
}

const isEverything = ({ verbs, apiGroups, resources, resourceNames }: Rule): boolean =>
  resourceNames.length === 0 && [verbs, apiGroups, resources].every((words) => words.includes(ANY));

const isEveryPath = ({ verbs, resourceNames, nonResourceURLs }: Rule): boolean =>
  resourceNames.length === 0 && verbs.includes(ANY) && nonResourceURLs.includes(ANY);

import { ANY, contains, PathSet, type Rule, type StringSet, stringCount, stringSet } from './rules.ts';

/**
 * The work of one comparison, in words looked at. Both sides may hold a hundred thousand of them, and each of
 * one side may have to be compared with each of the other. This much takes some 20 ms.
 */
export const MAX_STEPS = 100_000;
/** What a rule counts for besides its words: it is filed under each of them. */
const STEPS_OF_RULE = 12;
/** What a path that ends in a star counts for: those are sorted. */
const STEPS_OF_PREFIX = 8;

const hasOrAny = (words: StringSet, word: string): boolean => contains(words, ANY) || contains(words, word);

type ResourceRule = Readonly<Record<Dimension, StringSet>> & { readonly isUnnamed: boolean };

interface PathRule {
  readonly verbs: StringSet;
  readonly paths: PathSet;
}

type Dimension = Exclude<keyof Rule, 'nonResourceURLs'>;
const DIMENSIONS: readonly Dimension[] = ['resources', 'resourceNames', 'verbs', 'apiGroups'];
/** So few candidates are looked at rather than narrowed down further. */
const FEW = 4;
/** Where rules without names are found among those by name. No object has an empty name. */
const UNNAMED = '';

/** What somebody holds, by the words it is made of: only the rules that have the rarest word are looked at. */
export class HeldRules {
  readonly #rules: readonly ResourceRule[];
  /** By their words; made when there are too many candidates without. */
  readonly #filed = new Map<Dimension, ReadonlyMap<string, readonly ResourceRule[]>>();
  readonly #paths: readonly PathRule[];
  /** The words for resources that can cover something that is asked about. */
  readonly #asked: ReadonlySet<string>;
  #left = MAX_STEPS;

  /** `wanted` is what will be asked about: rules about other resources are left out. */
  constructor(rules: readonly Rule[], wanted: readonly Rule[]) {
    this.#asked = new Set(
      wanted.flatMap(({ resources }) => resources.flatMap((word) => coveringWords('resources', word))),
    );
    // Whoever holds everything is never asked for too much, whatever else they hold.
    const everything = rules.find(isEverything);
    this.#rules = (everything === undefined ? rules : [everything]).flatMap((rule) => this.#prepared(rule) ?? []);
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

  #prepared(rule: Rule): ResourceRule | undefined {
    const { verbs, apiGroups, resources, resourceNames } = rule;
    const isAsked = resources.some((word) => this.#asked.has(word));
    if (!isAsked || !this.#spend(STEPS_OF_RULE + stringCount(rule))) return undefined;
    return {
      verbs: stringSet(verbs),
      apiGroups: stringSet(apiGroups),
      resources: stringSet(resources),
      resourceNames: stringSet(resourceNames),
      isUnnamed: resourceNames.length === 0,
    };
  }

  #by(dimension: Dimension): ReadonlyMap<string, readonly ResourceRule[]> {
    const known = this.#filed.get(dimension);
    if (known !== undefined) return known;
    const filed = new Map<string, ResourceRule[]>();
    const file = (word: string, held: ResourceRule): void => {
      const list = filed.get(word);
      if (list === undefined) filed.set(word, [held]);
      else list.push(held);
    };
    for (const held of this.#rules) {
      for (const word of held[dimension]) file(word, held);
      if (dimension === 'resourceNames' && held.isUnnamed) file(UNNAMED, held);
    }
    this.#filed.set(dimension, filed);
    return filed;
  }

  /** Rules with the same verbs are one. Names of objects mean nothing to a path, so a rule with some holds none. */
  #pathRules(rules: readonly Rule[]): PathRule[] {
    const byVerbs = new Map<string, { verbs: StringSet; patterns: string[] }>();
    for (const { verbs, resourceNames, nonResourceURLs } of rules) {
      if (nonResourceURLs.length === 0 || resourceNames.length > 0) continue;
      const prefixes = nonResourceURLs.filter((path) => path.endsWith(ANY)).length;
      if (!this.#spend(verbs.length + nonResourceURLs.length + prefixes * STEPS_OF_PREFIX)) break;
      const text = JSON.stringify(verbs);
      const known = byVerbs.get(text) ?? { verbs: stringSet(verbs), patterns: [] };
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
        const lists = coveringWords(dimension, word).map((each) => this.#by(dimension).get(each) ?? []);
        const size = lists.reduce((sum, list) => sum + list.length, 0);
        if (size === 0) return [];
        if (size < least) [fewest, least] = [lists, size];
        if (least <= FEW) return this.#spend(least) ? (fewest ?? []).flat() : [];
      }
    }
    return this.#spend(Math.min(least, MAX_STEPS)) ? (fewest ?? []).flat() : [];
  }

  #covers(held: ResourceRule, wanted: Rule): boolean {
    return (
      this.#all(wanted.verbs, (verb) => hasOrAny(held.verbs, verb)) &&
      this.#all(wanted.apiGroups, (group) => hasOrAny(held.apiGroups, group)) &&
      this.#all(wanted.resources, (word) =>
        coveringWords('resources', word).some((w) => contains(held.resources, w)),
      ) &&
      // No names means every name, and that is covered only by every name.
      (held.isUnnamed ||
        (wanted.resourceNames.length > 0 &&
          this.#all(wanted.resourceNames, (name) => contains(held.resourceNames, name))))
    );
  }

  #coversPaths(held: PathRule, wanted: Rule): boolean {
    return (
      this.#all(wanted.verbs, (verb) => hasOrAny(held.verbs, verb)) &&
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
  if (word === ANY) return [ANY];
  const slash = dimension === 'resources' ? word.indexOf('/') : -1;
  // `*/scale` stands for itself.
  if (slash === -1 || word.startsWith('*/')) return [word, ANY];
  return [word, ANY, `*${word.slice(slash)}`];
}

const isEverything = ({ verbs, apiGroups, resources, resourceNames }: Rule): boolean =>
  resourceNames.length === 0 && [verbs, apiGroups, resources].every((words) => words.includes(ANY));

const isEveryPath = ({ verbs, resourceNames, nonResourceURLs }: Rule): boolean =>
  resourceNames.length === 0 && verbs.includes(ANY) && nonResourceURLs.includes(ANY);

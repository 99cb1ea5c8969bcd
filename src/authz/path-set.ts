import { ANY, withoutStars } from './rules.ts';

/**
 * The paths of many rules, for asking whether one of them matches (P-15): exact, `*`, or a prefix that ends in
 * `*`. A question costs a search by halves, however many paths there are.
 */
export class PathSet {
  readonly #exact: ReadonlySet<string>;
  /** Sorted, and none begins with another; so only the last one that sorts before a path can begin it. */
  readonly #prefixes: readonly string[];

  constructor(patterns: readonly string[]) {
    this.#exact = new Set(patterns);
    const prefixes: string[] = [];
    const candidates = patterns.filter((pattern) => pattern.endsWith(ANY)).map((pattern) => withoutStars(pattern));
    for (const prefix of candidates.sort(byUnits)) {
      const last = prefixes.at(-1);
      if (last === undefined || !prefix.startsWith(last)) prefixes.push(prefix);
    }
    this.#prefixes = prefixes;
  }

  matches(path: string): boolean {
    if (this.#exact.has(path)) return true;
    let [low, high] = [0, this.#prefixes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#prefixes[middle] ?? '') <= path) low = middle + 1;
      else high = middle;
    }
    const prefix = this.#prefixes[low - 1];
    return prefix !== undefined && path.startsWith(prefix);
  }
}

const byUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** One rule of a role, every list present. Purely additive: there is no rule that denies (P-10). */
export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** The whole-element wildcard of verbs, groups, resources and paths. There is no globbing (P-12). */
export const ANY = '*';

export const RULE_FIELDS = ['verbs', 'apiGroups', 'resources', 'resourceNames', 'nonResourceURLs'] as const;

/** Equal for rules with the same lists in the same order; used to drop duplicates (P-18). */
export const ruleText = (rule: Rule): string => JSON.stringify(RULE_FIELDS.map((name) => rule[name]));

export const rulesText = (rules: readonly Rule[]): string => JSON.stringify(rules.map(ruleText));

/** The number of strings in a rule: what reading or comparing it costs. */
export const stringCount = (rule: Rule): number => RULE_FIELDS.reduce((sum, name) => sum + rule[name].length, 0);

/**
 * One list of a rule, for membership tests. Nearly every list is so short that a scan is faster than a Set, and one
 * caller may hold a hundred thousand lists.
 */
export type StringSet = ReadonlySet<string> | readonly string[];

const MAX_SCANNED = 8;

export const stringSet = (list: readonly string[]): StringSet => (list.length > MAX_SCANNED ? new Set(list) : list);

export const contains = (set: StringSet, text: string): boolean =>
  set instanceof Set ? set.has(text) : (set as readonly string[]).includes(text);

/** P-15: exact, `*`, or a prefix that ends in `*`; `/apis/*` does not match `/apis`. */
export function pathMatches(pattern: string, path: string): boolean {
  if (pattern === ANY || pattern === path) return true;
  return pattern.endsWith(ANY) && path.startsWith(withoutStars(pattern));
}

function withoutStars(pattern: string): string {
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === ANY) end--;
  return pattern.slice(0, end);
}

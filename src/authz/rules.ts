import { field, isRecord, listOf } from './plain-json.ts';

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

const FIELDS = ['verbs', 'apiGroups', 'resources', 'resourceNames', 'nonResourceURLs'] as const;

/**
 * A rule with anything in it that is not a list of strings is left out whole. Leaving out only the bad
 * field would widen it: no `resourceNames` means every name.
 */
export function readRules(value: unknown): Rule[] {
  return listOf(value).flatMap((item) => {
    const rule = readRule(item);
    return rule === undefined ? [] : [rule];
  });
}

function readRule(item: unknown): Rule | undefined {
  if (!isRecord(item)) return undefined;
  const rule: Record<(typeof FIELDS)[number], readonly string[]> = {
    verbs: [],
    apiGroups: [],
    resources: [],
    resourceNames: [],
    nonResourceURLs: [],
  };
  for (const name of FIELDS) {
    const list = field(item, name) ?? [];
    if (!isTexts(list)) return undefined;
    rule[name] = list;
  }
  return rule;
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Equal text for rules that say the same in the same words; used to fold repeats (P-18). */
export const ruleText = (rule: Rule): string => JSON.stringify(FIELDS.map((name) => rule[name]));

/** How much there is to look at in a rule. */
export const wordCount = (rule: Rule): number => FIELDS.reduce((sum, name) => sum + rule[name].length, 0);

export const rulesText = (rules: readonly Rule[]): string => JSON.stringify(rules.map(ruleText));

/** P-15: exact, `*`, or a prefix that ends in `*`; `/apis/*` does not match `/apis`. */
export function pathMatches(pattern: string, path: string): boolean {
  if (pattern === ANY || pattern === path) return true;
  return pattern.endsWith(ANY) && path.startsWith(withoutStars(pattern));
}

export function withoutStars(pattern: string): string {
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === ANY) end--;
  return pattern.slice(0, end);
}

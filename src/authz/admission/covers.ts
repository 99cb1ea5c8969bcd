import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { Rule } from '../policy/rules.ts';
import { HeldRules } from './held-rules.ts';

/** Whether held rules allow at least what wanted rules allow, compared as in Kubernetes' escalation check. */

/**
 * A rule is compared in its smallest parts: one group, one resource, one verb, one name. A megabyte of JSON can hold a
 * rule with a billion of them, hence the limit; real roles stay below a thousand. A rule that one held rule covers
 * whole does not count.
 */
export const MAX_PARTS = 2_000;

export interface Coverage {
  /** The parts that are not covered. */
  readonly missing: readonly Rule[];
  /** True when there were too many parts to compare. Then `missing` may hold parts that are covered. */
  readonly tooMany: boolean;
}

const NOTHING: Rule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

export const coverageOf = (heldRules: readonly Rule[], wanted: readonly Rule[]): Coverage =>
  coverageBy(new HeldRules(heldRules, wanted), wanted);

/** `held` must have been made for rules that include the wanted ones. */
export function coverageBy(held: HeldRules, wanted: readonly Rule[]): Coverage {
  // A rule that one held rule covers whole is not split.
  const open = wanted.flatMap((rule) => halves(withoutDuplicates(rule))).filter((rule) => !held.cover(rule));
  const parts = open.reduce((sum, rule) => sum + partCount(rule), 0);
  if (held.isExhausted || parts > MAX_PARTS) return { missing: open, tooMany: true };
  // A rule of one part was compared above.
  const missing = open.flatMap((rule) =>
    partCount(rule) === 1 ? [rule] : splitIntoParts(rule).filter((part) => !held.cover(part)),
  );
  return { missing, tooMany: held.isExhausted };
}

/** Resources and paths are compared apart from each other. A rule without verbs allows nothing. */
function halves(rule: Rule): Rule[] {
  const both = [
    { ...rule, nonResourceURLs: [] },
    { ...NOTHING, verbs: rule.verbs, nonResourceURLs: rule.nonResourceURLs },
  ];
  return both.filter((half) => partCount(half) > 0);
}

function withoutDuplicates(rule: Rule): Rule {
  return {
    verbs: distinct(rule.verbs),
    apiGroups: distinct(rule.apiGroups),
    resources: distinct(rule.resources),
    resourceNames: distinct(rule.resourceNames),
    nonResourceURLs: distinct(rule.nonResourceURLs),
  };
}

const distinct = (list: readonly string[]): readonly string[] => (list.length < 2 ? list : [...new Set(list)]);

function partCount({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: Rule): number {
  const names = Math.max(1, resourceNames.length);
  return verbs.length * (apiGroups.length * resources.length * names + nonResourceURLs.length);
}

function splitIntoParts(rule: Rule): Rule[] {
  const parts: Rule[] = [];
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  for (const verb of rule.verbs) {
    for (const group of rule.apiGroups) {
      for (const resource of rule.resources) {
        for (const resourceNames of names) {
          parts.push({ ...NOTHING, verbs: [verb], apiGroups: [group], resources: [resource], resourceNames });
        }
      }
    }
    for (const url of rule.nonResourceURLs) parts.push({ ...NOTHING, verbs: [verb], nonResourceURLs: [url] });
  }
  return parts;
}

/** Merges parts that differ in their verb only. */
export function compact(parts: readonly Rule[]): Rule[] {
  const merged = new Map<string, { rule: Rule; verbs: Set<string> }>();
  for (const rule of parts) {
    // Paths are not merged, as in Kubernetes' message.
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames, rule.nonResourceURLs]);
    const separate = rule.nonResourceURLs.length > 0 ? JSON.stringify(rule.verbs) : '';
    const entry = merged.get(key + separate);
    if (entry === undefined) merged.set(key + separate, { rule, verbs: new Set(rule.verbs) });
    else for (const verb of rule.verbs) entry.verbs.add(verb);
  }
  return [...merged.values()].map(({ rule, verbs }) => ({ ...rule, verbs: [...verbs] }));
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
export function describeRule(rule: Rule): string {
  const parts: readonly [string, readonly string[]][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  const shown = parts.filter(([, list]) => list.length > 0).map(([label, list]) => `${label}:${goList(list)}`);
  return `{${shown.join(', ')}}`;
}

/** Go's `%q` of a list. */
export const goList = (list: readonly string[]): string => `[${list.map(goQuote).join(' ')}]`;

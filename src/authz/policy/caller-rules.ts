import type { CallerRules } from '../../api/authorization.ts';
import type { PassBounds } from '../../api/decision.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { bindingAppliesIn } from './binding-index.ts';
import type { ClusterView } from './cluster-selector.ts';
import type { CompiledBinding, CompiledRole } from './compiled-rbac.ts';
import { isAlwaysReviewed } from './pass-decision.ts';
import { GRANTING_VERBS, type Through } from './rule-index.ts';
import { ANY, type Rule, ruleText, stringCount } from './rules.ts';

interface CallerBindings {
  /** ClusterRoleBindings, and RoleBindings of the namespace of the review. */
  readonly forResources: readonly CompiledBinding[];
  /** ClusterRoleBindings of the user outside of any cluster: a path belongs to no cluster (P-15). */
  readonly forPaths: readonly CompiledBinding[];
  /** The cluster of the review; undefined at the fleet. */
  readonly view: ClusterView | undefined;
}

export function collectRules({ forResources, forPaths, view }: CallerBindings): Omit<CallerRules, 'reason'> {
  const list = new RuleList();
  const held = Map.groupBy(
    forResources.filter((binding) => bindingAppliesIn(binding, view)),
    ({ facts }) => isAlwaysReviewed(facts),
  );
  const direct = rulesOf(held.get(false) ?? []);
  const reviewed = rulesOf(held.get(true) ?? []).difference(direct);
  const withoutApproval = [...reviewed].map(heldWithoutApproval);
  const resourceRules = list.distinct([...direct, ...withoutApproval.map(({ rule }) => rule)], 'resources');
  const nonResourceRules = list.distinct(
    rulesOf(forPaths.filter((binding) => bindingAppliesIn(binding, undefined))),
    'nonResourceURLs',
  );
  return {
    shortened: list.isFull,
    needsApproval: withoutApproval.some(({ isLess }) => isLess),
    resourceRules,
    nonResourceRules,
    restricted: view === undefined && forResources.some(({ facts }) => facts.reach.kind === 'clusters'),
  };
}

const rulesOf = (bindings: readonly CompiledBinding[]): Set<Rule> =>
  new Set([...new Set(bindings.map(({ role }) => role))].flatMap(({ index }) => index.rules));

/** Elements of `resources` that are about tokens, by the API group. */
const TOKEN_ELEMENTS: readonly (readonly [group: string, elements: readonly string[]])[] = [
  ['', ['serviceaccounts/token', '*/token']],
  [CLUSTER_GROUP, ['clusters/userpass', '*/userpass']],
];

/**
 * The part of a rule that holds through a binding with `review-always`: see `ResourceMatch.counts`. A wildcard stays,
 * because what it excludes cannot be written as a rule.
 */
function heldWithoutApproval(rule: Rule): { readonly rule: Rule; readonly isLess: boolean } {
  const groups = TOKEN_ELEMENTS.filter(([group]) => [group, ANY].some((name) => rule.apiGroups.includes(name)));
  const tokens = groups.flatMap(([, elements]) => elements);
  const verbs = rule.verbs.filter((verb) => !GRANTING_VERBS.has(verb));
  const resources = rule.resources.filter((element) => !tokens.includes(element));
  const isLess =
    verbs.length < rule.verbs.length ||
    resources.length < rule.resources.length ||
    verbs.includes(ANY) ||
    (groups.length > 0 && resources.includes(ANY));
  return { rule: { ...rule, verbs, resources }, isLess };
}

/**
 * The rules of bindings that count as held: they do not end earlier, allow passes that are as long, and need no
 * approval for tokens (`throughForGrants`). A caller who needs an approval must not grant a binding without one, to
 * itself or to others.
 */
export function rulesOfHeld(
  bindings: Iterable<CompiledBinding>,
  { expiresAt, maxPassSeconds }: PassBounds,
  through: Through,
  isHeld: (binding: CompiledBinding) => boolean,
): Rule[] {
  const roles = new Set<CompiledRole>();
  for (const binding of bindings) {
    const { facts, role } = binding;
    if (facts.expiresAt >= expiresAt && facts.maxPassSeconds >= maxPassSeconds && through(facts) && isHeld(binding))
      roles.add(role);
  }
  return [...roles].flatMap(({ index }) => index.rules);
}

/** P-19: system:masters needs no binding. */
export const RULES_OF_MASTERS: CallerRules = {
  resourceRules: [{ verbs: [ANY], apiGroups: [ANY], resources: [ANY], resourceNames: [] }],
  nonResourceRules: [{ verbs: [ANY], nonResourceURLs: [ANY] }],
  restricted: false,
  shortened: false,
  needsApproval: false,
  reason: '',
};

/** Bounds one response: a caller may hold a hundred thousand strings. */
export const MAX_LISTED_STRINGS = 10_000;

class RuleList {
  #budget = MAX_LISTED_STRINGS;

  get isFull(): boolean {
    return this.#budget < 0;
  }

  /** Roles may have equal rules: each is listed once. */
  distinct(candidates: Iterable<Rule>, about: 'resources' | 'nonResourceURLs'): Rule[] {
    const rules = new Map<string, Rule>();
    for (const rule of candidates) {
      if (rule[about].length === 0 || rule.verbs.length === 0) continue;
      this.#budget -= stringCount(rule);
      if (this.isFull) return [...rules.values()];
      rules.set(ruleText(rule), rule);
    }
    return [...rules.values()];
  }
}

import type { CallerRules } from '../api/authorization.ts';
import { holds } from './binding-index.ts';
import type { ClusterView } from './cluster-selector.ts';
import type { CompiledBinding, CompiledRole } from './compiled-rbac.ts';
import { isAlwaysReviewed } from './pass-decision.ts';
import { ANY, type Rule, ruleText, stringCount } from './rules.ts';

export interface CallerBindings {
  /** ClusterRoleBindings, and RoleBindings of the namespace of the review. */
  readonly forResources: readonly CompiledBinding[];
  /** ClusterRoleBindings of the user outside of any cluster: a path belongs to no cluster (P-15). */
  readonly forPaths: readonly CompiledBinding[];
  /** The cluster of the review; undefined at the fleet. */
  readonly view: ClusterView | undefined;
}

export function collectRules({ forResources, forPaths, view }: CallerBindings): Omit<CallerRules, 'reason'> {
  const list = new RuleList();
  const resourceRules = list.distinct(
    forResources.filter((binding) => holds(binding, view)),
    'resources',
  );
  const nonResourceRules = list.distinct(
    forPaths.filter((binding) => holds(binding, undefined)),
    'nonResourceURLs',
  );
  return {
    shortened: list.isFull,
    resourceRules,
    nonResourceRules,
    restricted: view === undefined && forResources.some(({ facts }) => facts.reach.kind === 'clusters'),
  };
}

/**
 * The rules of bindings that count as held: they do not end before `until`, and need no approval for tokens. A caller who
 * needs an approval must not grant a binding without one, to itself or to others.
 */
export function rulesOfHeld(
  bindings: Iterable<CompiledBinding>,
  until: number,
  isHeld: (binding: CompiledBinding) => boolean,
): Rule[] {
  const roles = new Set<CompiledRole>();
  for (const binding of bindings) {
    const { facts, role } = binding;
    if (facts.expiresAt >= until && !isAlwaysReviewed(facts) && isHeld(binding)) roles.add(role);
  }
  return [...roles].flatMap(({ index }) => index.rules);
}

/** P-19: system:masters needs no binding. */
export const RULES_OF_MASTERS: CallerRules = {
  resourceRules: [{ verbs: [ANY], apiGroups: [ANY], resources: [ANY], resourceNames: [] }],
  nonResourceRules: [{ verbs: [ANY], nonResourceURLs: [ANY] }],
  restricted: false,
  shortened: false,
  reason: '',
};

/** Bounds one response: a caller may hold a hundred thousand strings. */
export const MAX_LISTED_STRINGS = 10_000;

class RuleList {
  #budget = MAX_LISTED_STRINGS;

  get isFull(): boolean {
    return this.#budget < 0;
  }

  /** Bindings may refer to the same role, and roles may have equal rules: each rule is listed once. */
  distinct(bindings: readonly CompiledBinding[], about: 'resources' | 'nonResourceURLs'): Rule[] {
    const rules = new Map<string, Rule>();
    for (const role of new Set(bindings.map((binding) => binding.role))) {
      for (const rule of role.index.rules) {
        if (rule[about].length === 0) continue;
        this.#budget -= stringCount(rule);
        if (this.isFull) return [...rules.values()];
        rules.set(ruleText(rule), rule);
      }
    }
    return [...rules.values()];
  }
}

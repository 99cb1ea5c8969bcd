import type { CallerRules } from '../api/authorization.ts';
import { holds } from './binding-pool.ts';
import type { ClusterView } from './cluster-selector.ts';
import type { CompiledBinding } from './compiled-binding.ts';
import { ANY, type Rule, ruleText } from './rules.ts';

export interface CallerBindings {
  /** Those that count for resources: ClusterRoleBindings, and RoleBindings of the namespace asked about. */
  readonly forResources: readonly CompiledBinding[];
  /** Those that count for paths: a path is about no cluster (P-15). */
  readonly forPaths: readonly CompiledBinding[];
  /** The cluster asked about; undefined at the fleet. */
  readonly view: ClusterView | undefined;
}

export function collectRules({ forResources, forPaths, view }: CallerBindings): Omit<CallerRules, 'reason'> {
  const resourceRules = distinctRules(forResources.filter((binding) => holds(binding, view)));
  const nonResourceRules = distinctRules(forPaths.filter((binding) => holds(binding, undefined)));
  return {
    resourceRules: resourceRules.filter(({ resources }) => resources.length > 0),
    nonResourceRules: nonResourceRules.filter(({ nonResourceURLs }) => nonResourceURLs.length > 0),
    restricted: view === undefined && forResources.some(({ facts }) => facts.reach.kind === 'clusters'),
  };
}

/** P-19: no binding says so. */
export const RULES_OF_MASTERS: CallerRules = {
  resourceRules: [{ verbs: [ANY], apiGroups: [ANY], resources: [ANY], resourceNames: [] }],
  nonResourceRules: [{ verbs: [ANY], nonResourceURLs: [ANY] }],
  restricted: false,
  reason: '',
};

/** Many bindings may lead to one role, and roles repeat each other. */
function distinctRules(bindings: readonly CompiledBinding[]): Rule[] {
  const rules = new Map<string, Rule>();
  for (const role of new Set(bindings.map((binding) => binding.role))) {
    for (const rule of role.index.rules) rules.set(ruleText(rule), rule);
  }
  return [...rules.values()];
}

import { isDeepStrictEqual } from 'node:util';
import { type Authorizer, clusterQuestion } from '../../api/authorization.ts';
import type { Identity } from '../../api/caller.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { PROTECT_VERB, PROTECTED_LABEL_PREFIX } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { CLUSTER_GROUP, isClusters } from '../../api/kinds/cluster-spec.ts';
import { forbidden } from '../../api/status.ts';
import { requirePermission } from '../forbidden.ts';
import { type ClusterView, viewCluster } from '../policy/cluster-selector.ts';
import type { Policy } from '../policy/policy.ts';
import type { Rule } from '../policy/rules.ts';
import { type Coverage, coverageBy } from './covers.ts';
import { describeRules, describeUser, FULL_AUTHORITY } from './escalation.ts';
import { type ComparisonBudget, HeldRules, MAX_COST } from './held-rules.ts';

/**
 * Bindings select clusters by their labels, so a caller who may write a cluster could give it the label of a binding,
 * and with it permissions to itself or to others. Writing a cluster is therefore checked as if the bindings that begin
 * to hold in it were written: the caller must hold in this cluster, as it was before the write, what they grant, or the
 * verb `escalate` on the cluster. What is held until some time counts only for bindings that expire no later. A binding
 * whose role does not exist counts as one that grants everything: the role may be created later, with any rules. See
 * ADR 23.
 */

export type LabelPolicy = Pick<Policy, 'rulesHeldIn' | 'beginningGrants'> & Pick<Authorizer, 'decide'>;

/** `old` is undefined on create. @throws ApiError 403 for labels that the caller may not set. */
export function checkLabels(
  policy: LabelPolicy,
  caller: Identity,
  kind: Pick<Kind, 'group' | 'resource'>,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  if (!isClusters(kind)) return;
  const { name = '' } = object.metadata;
  const before = viewCluster(name, old === undefined ? undefined : (old.metadata.labels ?? {}));
  const after = viewCluster(name, object.metadata.labels ?? {});
  checkProtected(policy, caller, before, after);
  checkBeginning(policy, caller, before, after);
}

/** Protected labels are added, changed and removed only with the verb `protect`, also if no binding selects them. */
function checkProtected(
  policy: LabelPolicy,
  caller: Identity,
  { labels: old }: ClusterView,
  { name, labels }: ClusterView,
): void {
  const isChanged = (key: string): boolean => key.startsWith(PROTECTED_LABEL_PREFIX) && old[key] !== labels[key];
  if (![...Object.keys(old), ...Object.keys(labels)].some(isChanged)) return;
  requirePermission(policy, caller, clusterQuestion(PROTECT_VERB, name));
}

function checkBeginning(policy: LabelPolicy, caller: Identity, before: ClusterView, after: ClusterView): void {
  const { name } = after;
  if (before.exists && isDeepStrictEqual(before.labels, after.labels)) return;
  if (policy.decide(caller, clusterQuestion('escalate', name)).allowed) return;
  // Paths belong to no cluster: a binding that is restricted to clusters never grants one.
  const grants = [...policy.beginningGrants(before, after)].map((grant) => ({
    ...grant,
    rules: withoutPaths(grant.rules ?? FULL_AUTHORITY),
    roleExists: grant.rules !== undefined,
  }));
  if (grants.length === 0) return;

  const user = caller.as(name);
  const budget: ComparisonBudget = { left: MAX_COST };
  const wanted = grants.flatMap(({ rules }) => rules);
  // By the bounds of the grants: nearly always there are none.
  const fleetWide = new Map<string, HeldRules>();
  for (const { binding, role, namespace, rules, roleExists, bounds } of grants) {
    const within = `${bounds.expiresAt} ${bounds.maxPassSeconds}`;
    const held = fleetWide.get(within) ?? new HeldRules(policy.rulesHeldIn(before, caller, '', bounds), wanted, budget);
    fleetWide.set(within, held);
    let { missing, tooMany }: Coverage = coverageBy(held, rules);
    if (missing.length > 0 && !tooMany && namespace !== '') {
      const local = new HeldRules(policy.rulesHeldIn(before, caller, namespace, bounds), missing, budget);
      ({ missing, tooMany } = coverageBy(local, missing));
    }
    if (missing.length === 0) continue;
    const why = !roleExists
      ? `its ${role.kind} ${goQuote(role.name)} does not exist: it could be created with any permissions`
      : tooMany
        ? 'grants more RBAC permissions than can be compared'
        : `grants RBAC permissions not currently held there:\n${describeRules(missing)}`;
    const refusal = `with these labels ${binding} would begin to hold in cluster ${goQuote(name)}, and ${why}`;
    throw forbidden(
      { group: CLUSTER_GROUP, resource: 'clusters' },
      name,
      `${describeUser(user)} may not set these labels: ${refusal}`,
    );
  }
}

const withoutPaths = (rules: readonly Rule[]): Rule[] =>
  rules.filter(({ resources }) => resources.length > 0).map((rule) => ({ ...rule, nonResourceURLs: [] }));

import { isDeepStrictEqual } from 'node:util';
import { type Authorizer, clusterQuestion } from '../api/authorization.ts';
import type { Identity } from '../api/caller.ts';
import { goQuote } from '../api/codec/go-text/go-quote.ts';
import { PROTECT_VERB, PROTECTED_LABEL_PREFIX } from '../api/domain-keys.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster-spec.ts';
import { type ApiError, forbidden } from '../api/status.ts';
import { type ClusterView, viewCluster } from './cluster-selector.ts';
import { type Coverage, coverageBy } from './covers.ts';
import { describeRules, describeUser } from './escalation.ts';
import { forbiddenFor } from './forbidden.ts';
import { type ComparisonBudget, HeldRules, MAX_COST } from './held-rules.ts';
import type { Policy } from './policy.ts';
import type { Rule } from './rules.ts';
import type { BeginningGrant } from './selector-index.ts';

/**
 * Bindings select clusters by their labels, so a caller who may write a cluster could give it the label of a binding,
 * and with it permissions to itself or to others. Writing a cluster is therefore checked as if the bindings that begin
 * to hold in it were written: the caller must hold in this cluster, as it was before the write, what they grant, or the
 * verb `escalate` on the cluster. What is held until some time counts only for bindings that expire no later. See
 * ADR 23.
 */

export type LabelPolicy = Pick<Policy, 'rulesHeldIn' | 'beginningGrants'> & Pick<Authorizer, 'decide'>;

/** The 403 for labels that the caller may not set; `old` is undefined on create. */
export function refuseLabels(
  policy: LabelPolicy,
  caller: Identity,
  kind: Pick<Kind, 'group' | 'resource'>,
  object: ApiObject,
  old: ApiObject | undefined,
): ApiError | undefined {
  if (kind.group !== CLUSTER_GROUP || kind.resource !== 'clusters') return undefined;
  const { name = '' } = object.metadata;
  const before = viewCluster(name, old === undefined ? undefined : (old.metadata.labels ?? {}));
  const after = viewCluster(name, object.metadata.labels ?? {});
  return refuseProtected(policy, caller, before, after) ?? refuseBeginning(policy, caller, before, after);
}

/** Protected labels are added, changed and removed only with the verb `protect`, also if no binding selects them. */
function refuseProtected(
  policy: LabelPolicy,
  caller: Identity,
  { labels: old }: ClusterView,
  { name, labels }: ClusterView,
): ApiError | undefined {
  const isChanged = (key: string): boolean => key.startsWith(PROTECTED_LABEL_PREFIX) && old[key] !== labels[key];
  if (![...Object.keys(old), ...Object.keys(labels)].some(isChanged)) return undefined;
  const question = clusterQuestion(PROTECT_VERB, name);
  const decision = policy.decide(caller, question);
  return decision.allowed ? undefined : forbiddenFor(caller.as(name), question, decision);
}

function refuseBeginning(
  policy: LabelPolicy,
  caller: Identity,
  before: ClusterView,
  after: ClusterView,
): ApiError | undefined {
  const { name } = after;
  if (before.exists && isDeepStrictEqual(before.labels, after.labels)) return undefined;
  if (policy.decide(caller, clusterQuestion('escalate', name)).allowed) return undefined;
  // Paths belong to no cluster: a binding that is restricted to clusters never grants one.
  const grants = [...policy.beginningGrants(before, after)].map((grant) => ({ ...grant, rules: withoutPaths(grant) }));
  if (grants.length === 0) return undefined;

  const user = caller.as(name);
  const budget: ComparisonBudget = { left: MAX_COST };
  const wanted = grants.flatMap(({ rules }) => rules);
  // By the expiry of the grants: nearly always there is one, that of bindings without an expiry.
  const fleetWide = new Map<number, HeldRules>();
  for (const { binding, namespace, rules, until } of grants) {
    const held = fleetWide.get(until) ?? new HeldRules(policy.rulesHeldIn(before, user, '', until), wanted, budget);
    fleetWide.set(until, held);
    let { missing, tooMany }: Coverage = coverageBy(held, rules);
    if (missing.length > 0 && !tooMany && namespace !== '') {
      const local = new HeldRules(policy.rulesHeldIn(before, user, namespace, until), missing, budget);
      ({ missing, tooMany } = coverageBy(local, missing));
    }
    if (missing.length === 0) continue;
    const why = tooMany
      ? 'grants more RBAC permissions than can be compared'
      : `grants RBAC permissions not currently held there:\n${describeRules(missing)}`;
    const refusal = `with these labels ${binding} would begin to hold in cluster ${goQuote(name)}, and ${why}`;
    return forbidden(
      { group: CLUSTER_GROUP, resource: 'clusters' },
      name,
      `${describeUser(user)} may not set these labels: ${refusal}`,
    );
  }
  return undefined;
}

const withoutPaths = ({ rules }: BeginningGrant): Rule[] =>
  rules.filter(({ resources }) => resources.length > 0).map((rule) => ({ ...rule, nonResourceURLs: [] }));

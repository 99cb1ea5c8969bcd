import { type Authorizer, questionAbout, type ResourceQuestion } from '../../api/authorization.ts';
import { type Caller, MASTERS } from '../../api/caller.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { Kind } from '../../api/kind.ts';
import { accessRequestKind } from '../../api/kinds/access-request.ts';
import type { RequestScope } from '../../api/kinds/approval.ts';
import { APPROVE_VERB } from '../../api/kinds/approval-kind.ts';
import { type PolicyRule, RBAC_GROUP } from '../../api/kinds/rbac.ts';
import { type ApiError, forbidden } from '../../api/status.ts';
import type { ClusterLabels } from '../../api/visibility.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { forbiddenFor } from '../forbidden.ts';
import { viewCluster } from '../policy/cluster-selector.ts';
import type { Policy } from '../policy/policy.ts';
import { readRules } from '../policy/rbac-objects.ts';
import { scopesFor } from '../policy/subject-table.ts';
import { escalationProblem } from './escalation.ts';

/** Who may ask for access, and who may grant it. See ADR 34. */

type RequestPolicy = Pick<Policy, 'rulesHeldIn'> & Pick<Authorizer, 'decide'>;

const { group, resource } = accessRequestKind;

type Approvable = Pick<Kind, 'group' | 'resource'>;

/** About requests for access, or passes, in a cluster and a namespace; without a scope, about all of them. */
const question = (kind: Approvable, verb: string, name: string, scope?: RequestScope): ResourceQuestion =>
  questionAbout(kind, verb, { namespace: scope?.namespace ?? '', name, cluster: scope?.cluster });

/** @throws ApiError 403 for a caller who may not request access there. */
export function checkRequest(policy: RequestPolicy, caller: Caller, scope: RequestScope): void {
  const asked = question(accessRequestKind, 'create', '', scope);
  const decision = policy.decide(caller, asked);
  if (!decision.allowed) throw forbiddenFor(caller.as(asked.cluster), asked, decision);
}

/** The 403 of a caller who may not decide this object; without a scope, of one who may not decide every one. */
export function decisionRefusal(
  policy: Pick<Authorizer, 'decide'>,
  kind: Approvable,
  caller: Caller,
  name: string,
  scope?: RequestScope,
): ApiError | undefined {
  const asked = question(kind, APPROVE_VERB, name, scope);
  const decision = policy.decide(caller, asked);
  return decision.allowed ? undefined : forbiddenFor(caller.as(asked.cluster), asked, decision);
}

/** What an approval would grant. */
interface WantedGrant extends RequestScope {
  readonly name: string;
  readonly rules: readonly PolicyRule[];
  /** The role that would be bound. */
  readonly role: string;
  /** The labels of the cluster; undefined if it does not exist. */
  readonly labels: ClusterLabels | undefined;
  /** When the access would expire, in epoch milliseconds. */
  readonly until: number;
}

/**
 * An approver must hold what the approval grants: in this cluster, and for as long. As for bindings, there are verbs
 * instead: `escalate` to write the role, and `bind` to bind it.
 *
 * @throws ApiError 403
 */
export function checkApproval(policy: RequestPolicy, caller: Caller, grant: WantedGrant): void {
  const { cluster, namespace, until } = grant;
  const user = caller.as(cluster);
  if (user.groups.includes(MASTERS)) return;
  const roles = { group: RBAC_GROUP, resource: namespace === '' ? 'clusterroles' : 'roles', subresource: '' };
  const may = (verb: string, name: string): boolean =>
    policy.decide(caller, { ...roles, verb, namespace, name, cluster: undefined }).allowed;
  if (may('escalate', '') && may('bind', grant.role)) return;
  const view = viewCluster(cluster, grant.labels);
  // The binding of an approval does not bound the passes through it.
  const bounds = { expiresAt: until, maxPassSeconds: Number.POSITIVE_INFINITY };
  const held = scopesFor(namespace).flatMap((scope) => policy.rulesHeldIn(view, caller, scope, bounds));
  const where = ` in cluster ${goQuote(cluster)} until ${toTimestamp(until)}`;
  const why = escalationProblem(user, held, readRules(grant.rules), where);
  if (why !== undefined) throw forbidden({ group, resource }, grant.name, why);
}

import { isDeepStrictEqual } from 'node:util';
import { type Authorizer, questionAbout } from '../../api/authorization.ts';
import { type Caller, MASTERS, type User } from '../../api/caller.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { ACCESS_GRANT_PREFIX } from '../../api/kinds/access-request.ts';
import { RBAC_GROUP } from '../../api/kinds/rbac.ts';
import { type ApiError, forbidden, notFound } from '../../api/status.ts';
import { readBinding, UNBOUNDED } from '../policy/binding-facts.ts';
import type { Reach } from '../policy/cluster-selector.ts';
import type { Policy } from '../policy/policy.ts';
import { readAggregation, readRules } from '../policy/rbac-objects.ts';
import type { Rule } from '../policy/rules.ts';
import { compact, coverageOf, describeRule, goList } from './covers.ts';

/**
 * A caller may not grant permissions that it does not hold: a caller who may write roles or bindings could otherwise
 * give itself everything. Kubernetes' escalation check, with a stricter rule for clusters: what is held in some
 * clusters only counts for a binding that is restricted by the same selector. What is held until some time counts only
 * for a binding that expires no later, and what is held in one cluster by its uid only for a binding to the same uid.
 *
 * Roles and bindings belong to the fleet, so the caller is the user of a request about no cluster. What a service
 * account may do in its home cluster does not count.
 */

type GrantPolicy = Pick<Policy, 'heldRules' | 'rulesOf'> & Pick<Authorizer, 'decide'>;

interface GrantAttempt {
  readonly policy: GrantPolicy;
  readonly caller: Caller;
  /** The object about to be stored. */
  readonly object: ApiObject;
  /** What it replaces; undefined on create. */
  readonly old: ApiObject | undefined;
}

/** The escalation check of a write. @throws ApiError 403 or 404 for a role or binding that the caller may not write. */
export function checkGrant(
  policy: GrantPolicy,
  caller: Caller,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  if (kind.policyRole === 'binding') checkBinding({ policy, caller, object, old }, kind);
  if (kind.policyRole === 'rules') checkRole({ policy, caller, object, old }, kind);
}

const EVERYWHERE: Reach = { kind: 'everywhere' };
/** All permissions: what an aggregation, or a role that does not exist yet, can come to grant. */
export const FULL_AUTHORITY = readRules([
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]);

function checkRole({ policy, caller, object, old }: GrantAttempt, { resource, namespaced }: Kind): void {
  const user = caller.as(undefined);
  const name = object.metadata.name ?? '';
  const isGrant = isGrantName(name);
  if (user.groups.includes(MASTERS) || (!isGrant && onlyHousekeeping(object, old))) return;
  const namespace = namespaced ? (object.metadata.namespace ?? '') : '';
  const isNamed = old !== undefined;
  // On create Kubernetes checks the collection: there is no name yet (P-13).
  const asked = { namespace, name: isNamed ? name : '' };
  const escalate = questionAbout({ group: RBAC_GROUP, resource }, 'escalate', asked);
  if (policy.decide(caller, escalate).allowed) return;
  if (isGrant) throw grantNameForbidden({ group: RBAC_GROUP, resource }, name, 'escalate');

  const held = policy.heldRules(caller, namespace, EVERYWHERE, UNBOUNDED);
  const refusal = escalationProblem(user, held, readRules(object.rules));
  if (refusal !== undefined) throw forbidden({ group: RBAC_GROUP, resource }, name, refusal);
  if (!namespaced && [object, old].some((role) => role && readAggregation(role) !== undefined)) {
    // An aggregation includes every role that is labelled for it, now or later.
    if (escalationProblem(user, held, FULL_AUTHORITY) !== undefined) {
      const why = 'must have cluster-admin privileges to use the aggregationRule';
      throw forbidden({ group: RBAC_GROUP, resource }, name, why);
    }
  }
}

function checkBinding({ policy, caller, object, old }: GrantAttempt, kind: Pick<Kind, 'group' | 'resource'>): void {
  const user = caller.as(undefined);
  const { name = '', namespace = '' } = object.metadata;
  const { roleRef, scopes, reach, expiresAt, maxPassSeconds } = readBinding(object, namespace, name);
  const isGrant = isGrantName(name) || isGrantName(roleRef.name);
  if (user.groups.includes(MASTERS) || (!isGrant && onlyHousekeeping(object, old))) return;
  const roleResource = { group: RBAC_GROUP, resource: roleRef.kind === 'Role' ? 'roles' : 'clusterroles' };
  const isKnownKind = roleRef.kind === 'Role' || roleRef.kind === 'ClusterRole';
  if (isKnownKind && roleRef.name !== '') {
    const bind = { verb: 'bind', ...roleResource, subresource: '', name: roleRef.name, cluster: undefined };
    if (scopes.every((scope) => policy.decide(caller, { ...bind, namespace: scope }).allowed)) return;
  }
  if (isGrant) throw grantNameForbidden(kind, name, 'bind');

  const rules = policy.rulesOf(roleRef);
  if (rules === undefined) throw notFound(roleResource, roleRef.name);
  // Validation refuses a binding that holds nowhere later: until then it counts as one that holds everywhere.
  const wanted = reach.kind === 'nowhere' ? EVERYWHERE : reach;
  for (const scope of scopes) {
    const held = policy.heldRules(caller, scope, wanted, { expiresAt, maxPassSeconds });
    const refusal = escalationProblem(user, held, rules);
    if (refusal !== undefined) throw forbidden(kind, name, refusal);
  }
}

/**
 * Roles and bindings of access requests. Another request of the same name makes the role again with other rules, which
 * its approver holds in one cluster only: a binding that waits for it would hold everywhere. And one without its owner
 * reference would stay after a withdrawal.
 */
const isGrantName = (name: string): boolean => name.startsWith(ACCESS_GRANT_PREFIX);

function grantNameForbidden(kind: Pick<Kind, 'group' | 'resource'>, name: string, verb: 'bind' | 'escalate'): ApiError {
  const why = `names that begin with ${goQuote(ACCESS_GRANT_PREFIX)} belong to access requests: it needs the verb ${verb}`;
  return forbidden(kind, name, why);
}

/** A role may exceed the held rules in tens of thousands of parts; the first ones are enough for a person. */
const MAX_LINES = 100;

/** Why the user may not grant the wanted rules. `where`: the cluster and the time for which they are held. */
export function escalationProblem(
  user: User,
  held: readonly Rule[],
  wanted: readonly Rule[],
  where = '',
): string | undefined {
  const { missing, tooMany } = coverageOf(held, wanted);
  if (missing.length === 0) return undefined;
  const who = describeUser(user);
  if (tooMany) return `${who} is attempting to grant more RBAC permissions at once than can be compared`;
  return `${who} is attempting to grant RBAC permissions not currently held${where}:\n${describeRules(missing)}`;
}

export const describeUser = ({ name, groups }: User): string => `user ${goQuote(name)} (groups=${goList(groups)})`;

/** One rule a line, the first ones only. */
export function describeRules(rules: readonly Rule[]): string {
  const lines = [...new Set(compact(rules).map(describeRule))].sort();
  const shown = lines.slice(0, MAX_LINES);
  if (lines.length > MAX_LINES) shown.push(`and ${lines.length - MAX_LINES} more`);
  return shown.join('\n');
}

/** Fields that garbage collection writes, and those that the server itself sets. */
const HOUSEKEEPING = ['ownerReferences', 'finalizers', 'managedFields', 'selfLink', 'resourceVersion'] as const;

/** An update that changes only these fields grants nothing, even if the writer could not create the object. */
function onlyHousekeeping(object: ApiObject, old: ApiObject | undefined): boolean {
  if (old === undefined) return false;
  return isDeepStrictEqual(withoutHousekeeping(object), withoutHousekeeping(old));
}

function withoutHousekeeping(object: ApiObject): ApiObject {
  const metadata = { ...object.metadata };
  for (const name of HOUSEKEEPING) delete metadata[name];
  return { ...object, metadata };
}

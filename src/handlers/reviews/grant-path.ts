import { type Authorizer, questionAbout } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import type { BindingApproval, BoundSubject, FoundGrant, Grant, GrantTerms } from '../../api/decision.ts';
import type { Kind } from '../../api/kind.ts';
import { AGENTS_ALLOW, type APPROVERS, fleetRoleBindingKind } from '../../api/kinds/fleet-role-binding.ts';
import type { GrantedSubject, GrantPath } from '../../api/kinds/grant-reviews.ts';
import { clusterRoleBindingKind, roleBindingKind } from '../../api/kinds/rbac.ts';
import type { ApiRequest } from '../../api/request.ts';
import { defined } from '../../lib/json.ts';
import { sortedBy } from '../../lib/sorted-by.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ReviewParts } from './review.ts';

const BINDINGS: Readonly<Record<Grant['kind'], Kind>> = {
  ClusterRoleBinding: clusterRoleBindingKind,
  RoleBinding: roleBindingKind,
  FleetRoleBinding: fleetRoleBindingKind,
};

/** Subjects that one review names. */
export const MAX_SUBJECTS = 10_000;

/** Whether the caller may read a binding, and so may learn what it grants to whom. */
export const mayReadBinding = (
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  { kind, namespace, name }: Pick<Grant, 'kind' | 'namespace' | 'name'>,
): boolean => authorizer.decide(caller, questionAbout(BINDINGS[kind], 'get', { namespace, name })).allowed;

/**
 * What a review of bindings says to a caller who may not read all of them: those of the fleet and, unless `namespace`
 * is undefined, the RoleBindings of a namespace (`""`: of all namespaces).
 */
export function hiddenBindings(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  namespace: string | undefined,
): string[] {
  const mayRead = (kind: Kind, of = ''): boolean =>
    authorizer.decide(caller, questionAbout(kind, 'get', { namespace: of })).allowed;
  const mayReadAll =
    mayRead(clusterRoleBindingKind) &&
    mayRead(fleetRoleBindingKind) &&
    (namespace === undefined || mayRead(roleBindingKind, namespace));
  return mayReadAll ? [] : ['bindings that you may not read are left out'];
}

/** The binding and the role of a grant, as references. */
export function grantPath({ kind, namespace, name, roleRef }: Grant): GrantPath {
  return {
    binding: defined({ kind, namespace: namespace || undefined, name }),
    role: defined({ kind: roleRef.kind, namespace: roleRef.namespace || undefined, name: roleRef.name }),
  };
}

const APPROVED_BY: Readonly<Record<BindingApproval, (typeof APPROVERS)[number] | undefined>> = {
  none: undefined,
  confirm: 'Requester',
  review: 'Approver',
  'review-always': 'ApproverAlways',
};

/** A grant as references, with its fields that say until when and for which passes it holds. */
const grantedBy = (grant: Grant & GrantTerms): Omit<GrantedSubject, 'kind' | 'name'> => ({
  ...grantPath(grant),
  ...defined({
    expiresAt: Number.isFinite(grant.expiresAt) ? toTimestamp(grant.expiresAt) : undefined,
    agents: grant.agents ? AGENTS_ALLOW : undefined,
    approval: APPROVED_BY[grant.approval],
    maxPassSeconds: Number.isFinite(grant.maxPassSeconds) ? grant.maxPassSeconds : undefined,
  }),
});

/** The subjects of the grants whose bindings the caller may read; `cost` counts what was looked at and found. */
export async function rowsOf(
  { authorizer }: Pick<ReviewParts, 'authorizer'>,
  { caller, work }: Pick<ApiRequest, 'caller' | 'work'>,
  found: Iterable<FoundGrant | undefined>,
): Promise<{ rows: readonly GrantedSubject[]; isShortened: boolean; cost: number }> {
  const rows: GrantedSubject[] = [];
  let [looked, listed] = [0, 0];
  for (const each of found) {
    looked++;
    if (work.isUsedUp) await work.turn();
    if (each === undefined || (each.grant !== undefined && !mayReadBinding(authorizer, caller, each.grant))) continue;
    const { grant, subjects, resourceNames, gives } = each;
    // Each subject repeats the names of its role.
    const lists = [resourceNames, ...(gives ?? []).flatMap(({ namespaces, names }) => [namespaces, names])];
    listed += subjects.length * lists.reduce((sum, list) => sum + (list?.length ?? 0), 1);
    if (listed > MAX_SUBJECTS) break;
    const through = { ...defined({ resourceNames, gives }), ...(grant === undefined ? {} : grantedBy(grant)) };
    rows.push(...subjects.map((subject) => ({ ...shownSubject(subject), ...through })));
  }
  return { rows: sortedBy(rows, sortKey), isShortened: listed > MAX_SUBJECTS, cost: looked + listed };
}

const sortKey = ({ kind, namespace, name, binding }: GrantedSubject): string =>
  JSON.stringify([kind, namespace ?? '', name, binding?.kind, binding?.namespace, binding?.name]);

/** The part of a status that says whether the answer is complete, and why it is not. */
export const completeness = (problems: readonly string[]): { incomplete: boolean; evaluationError?: string } => ({
  incomplete: problems.length > 0,
  ...(problems.length === 0 ? {} : { evaluationError: problems.join('; ') }),
});

/** A subject as it is written in bindings. */
export const shownSubject = ({ kind, name, account }: BoundSubject): GrantedSubject =>
  account === undefined
    ? { kind: kind === 'user' ? 'User' : 'Group', name }
    : { kind: 'ServiceAccount', namespace: account.namespace, name: account.name };

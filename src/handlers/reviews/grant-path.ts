import type { Authorizer } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import type { BoundSubject, Grant } from '../../api/decision.ts';
import type { Kind } from '../../api/kind.ts';
import { fleetRoleBindingKind } from '../../api/kinds/fleet-role-binding.ts';
import type { GrantedSubject, GrantPath } from '../../api/kinds/grant-reviews.ts';
import { clusterRoleBindingKind, roleBindingKind } from '../../api/kinds/rbac.ts';

const BINDINGS: Readonly<Record<Grant['kind'], Kind>> = {
  ClusterRoleBinding: clusterRoleBindingKind,
  RoleBinding: roleBindingKind,
  FleetRoleBinding: fleetRoleBindingKind,
};

const question = ({ group, resource }: Pick<Kind, 'group' | 'resource'>, namespace: string, name: string) => ({
  verb: 'get',
  group,
  resource,
  subresource: '',
  namespace,
  name,
  cluster: undefined,
});

/** Subjects that one review names. */
export const MAX_SUBJECTS = 10_000;

/** Whether the caller may read a binding, and so may learn what it grants to whom. */
export const mayReadBinding = (
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  { kind, namespace, name }: Pick<Grant, 'kind' | 'namespace' | 'name'>,
): boolean => authorizer.decide(caller, question(BINDINGS[kind], namespace, name)).allowed;

/**
 * What a review of bindings says to a caller who may not read all of them: those of the fleet and, unless `namespace`
 * is undefined, the RoleBindings of a namespace (`""`: of all namespaces).
 */
export function hiddenBindings(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  namespace: string | undefined,
): string[] {
  const mayRead = (kind: Kind, of = ''): boolean => authorizer.decide(caller, question(kind, of, '')).allowed;
  const mayReadAll =
    mayRead(clusterRoleBindingKind) &&
    mayRead(fleetRoleBindingKind) &&
    (namespace === undefined || mayRead(roleBindingKind, namespace));
  return mayReadAll ? [] : ['bindings that you may not read are left out'];
}

/** The binding and the role of a grant, as references. */
export function grantPath({ kind, namespace, name, roleRef }: Grant): GrantPath {
  return {
    binding: { kind, ...(namespace === '' ? {} : { namespace }), name },
    role: {
      kind: roleRef.kind,
      ...(roleRef.namespace === '' ? {} : { namespace: roleRef.namespace }),
      name: roleRef.name,
    },
  };
}

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

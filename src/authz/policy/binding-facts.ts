import { NAME_LABEL } from '../../api/clusters-field.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { Grant, GrantTerms, PassBounds } from '../../api/decision.ts';
import type { ApiObject } from '../../api/kind.ts';
import { bindingProblem } from '../../api/kinds/binding-problem.ts';
import { AGENTS_ALLOW, bindingSpec } from '../../api/kinds/fleet-role-binding.ts';
import type { LabelSelectorFields } from '../../api/kinds/label-selector-schema.ts';
import { CLUSTERPASS_GROUP } from '../../api/kinds/meta.ts';
import { RBAC_GROUP } from '../../api/kinds/rbac.ts';
import { qualified } from '../../api/status.ts';
import { LabelSelector } from '../../objects/selectors/label-selector.ts';
import { ClusterSelector, type Reach } from './cluster-selector.ts';
import { type RoleKey, readRoleRef, readSelector, readSubjects, type Subject } from './rbac-objects.ts';

export interface BindingFacts extends GrantTerms {
  /** How a decision names it: `ClusterRoleBinding/x`, `RoleBinding/ns/x`. */
  readonly id: string;
  readonly kind: Grant['kind'];
  /** The namespace of the object; `""` for one of the fleet. */
  readonly namespace: string;
  /** The namespaces in which it holds; `""`: all of them, and objects without one. */
  readonly scopes: readonly string[];
  readonly name: string;
  readonly subjects: readonly Subject[];
  readonly roleRef: RoleKey;
  readonly reach: Reach;
}

/**
 * Reads a stored binding. It was validated when it was written, but others can write to the store as well: one that the
 * API would refuse holds nowhere.
 */
export function readBinding(object: ApiObject, namespace: string, name: string): BindingFacts {
  const problem = bindingProblem(object);
  // A finalizer may keep the object, not the permission.
  const reason = object.metadata.deletionTimestamp === undefined ? problem : BEING_DELETED;
  const reach = reason === undefined ? reachOf(object) : { kind: 'nowhere' as const, reason };
  if (object.kind === 'FleetRoleBinding') return fleetFacts(object, name, reach, problem === undefined);
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
  return {
    ...UNBOUNDED,
    id: bindingId({ kind, namespace, name }),
    kind,
    namespace,
    scopes: [namespace],
    name,
    subjects: readSubjects(object.subjects, namespace),
    roleRef: readRoleRef(object.roleRef, namespace),
    reach,
    agents: false,
    approval: 'none',
  };
}

const BEING_DELETED = 'it is being deleted';

/** Until no end, and for passes of any length. */
export const UNBOUNDED: PassBounds = {
  expiresAt: Number.POSITIVE_INFINITY,
  maxPassSeconds: Number.POSITIVE_INFINITY,
};

export const bindingId = ({ kind, namespace, name }: Pick<BindingFacts, 'kind' | 'namespace' | 'name'>): string =>
  namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;

const APPROVALS = { Requester: 'confirm', Approver: 'review', ApproverAlways: 'review-always' } as const;

/** Without `isValid`, only who is bound to what can be said. */
function fleetFacts(object: ApiObject, name: string, reach: Reach, isValid: boolean): BindingFacts {
  const { subjects, roleRef } = bindingSpec(object);
  const { namespaces: scopes = [''], expiresAt, agents, approval, maxPassSeconds } = isValid ? bindingSpec(object) : {};
  return {
    id: bindingId({ kind: 'FleetRoleBinding', namespace: '', name }),
    kind: 'FleetRoleBinding',
    namespace: '',
    scopes,
    name,
    subjects: readSubjects(subjects, ''),
    roleRef: readRoleRef(roleRef, scopes[0] ?? ''),
    reach,
    expiresAt: expiresAt === undefined ? UNBOUNDED.expiresAt : endOf(expiresAt),
    agents: agents === AGENTS_ALLOW,
    approval: approval === undefined ? 'none' : APPROVALS[approval.by as keyof typeof APPROVALS],
    maxPassSeconds: maxPassSeconds ?? UNBOUNDED.maxPassSeconds,
  };
}

/** The API stores one form of times. In another one, which only Go reads, the binding has ended. */
function endOf(text: string): number {
  const time = Date.parse(text);
  return Number.isNaN(time) ? Number.NEGATIVE_INFINITY : time;
}

/** Where a binding holds that the API accepts: one of Kubernetes everywhere. */
function reachOf(object: ApiObject): Reach {
  const { all = object.kind !== 'FleetRoleBinding', names, selector, uid } = bindingSpec(object).clusters ?? {};
  if (all) return { kind: 'everywhere' };
  if (names === undefined)
    return { kind: 'clusters', selector: new ClusterSelector(readSelector(selector as LabelSelectorFields)) };
  const requirement = { key: NAME_LABEL, operator: 'in', values: [...new Set(names)].sort() } as const;
  return {
    kind: 'clusters',
    selector: new ClusterSelector(new LabelSelector([requirement])),
    ...(uid === undefined ? {} : { bound: `${names[0]}/${uid}` }),
  };
}

/** Why a binding grants nothing to its subjects; undefined when its role is found. P-17: it is skipped, not fatal. */
export function resolutionError(
  { kind, name, reach, roleRef }: Pick<BindingFacts, 'kind' | 'name' | 'reach' | 'roleRef'>,
  roleExists: boolean,
): string | undefined {
  if (reach.kind === 'nowhere') {
    const group = kind === 'FleetRoleBinding' ? CLUSTERPASS_GROUP : RBAC_GROUP;
    return `${qualified(group, kind.toLowerCase())} ${goQuote(name)}: ${reach.reason}`;
  }
  if (roleExists) return undefined;
  if (roleRef.kind !== 'ClusterRole' && roleRef.kind !== 'Role') {
    return `unsupported role reference kind: ${goQuote(roleRef.kind)}`;
  }
  return `${qualified(RBAC_GROUP, roleRef.kind.toLowerCase())} ${goQuote(roleRef.name)} not found`;
}

/** P-35: the reason of a refusal, without duplicates, in the form of Kubernetes' error aggregate. */
export function reasonText(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  if (distinct.length === 0) return '';
  return distinct.length === 1 ? `RBAC: ${distinct[0]}` : `RBAC: [${distinct.join(', ')}]`;
}

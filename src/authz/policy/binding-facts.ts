import { type ClustersField, NAME_LABEL } from '../../api/clusters-field.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { Grant, PassBounds } from '../../api/decision.ts';
import { validateDomainKeys } from '../../api/domain-keys.ts';
import type { ApiObject, ObjectMeta } from '../../api/kind.ts';
import { AGENTS_ALLOW, SpecSchema } from '../../api/kinds/fleet-role-binding-spec.ts';
import { CLUSTERPASS_GROUP } from '../../api/kinds/meta.ts';
import type { PassApproval } from '../../api/kinds/pass-spec.ts';
import { RBAC_GROUP } from '../../api/kinds/rbac.ts';
import { qualified } from '../../api/status.ts';
import { isJsonObject, memberOf } from '../../lib/json.ts';
import { LabelSelector } from '../../objects/selectors/label-selector.ts';
import { ClusterSelector, type Reach } from './cluster-selector.ts';
import {
  isStrings,
  type RoleKey,
  readRoleRef,
  readSelector,
  readSubjects,
  type Subject,
  unknownKey,
} from './rbac-objects.ts';

/** What a pass through a binding needs: `confirm` and `review` hold for agents, `review-always` for every caller. */
export type BindingApproval = PassApproval | 'review-always';

export interface BindingFacts extends PassBounds {
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
  /** Agents may ask for passes through it. */
  readonly agents: boolean;
  /** What a pass through it needs. */
  readonly approval: BindingApproval;
}

export function readBinding(object: ApiObject, namespace: string, name: string): BindingFacts {
  if (object.kind === 'FleetRoleBinding') return readFleetBinding(object, name);
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
  return {
    id: bindingId({ kind, namespace, name }),
    kind,
    namespace,
    scopes: [namespace],
    name,
    subjects: readSubjects(object.subjects, namespace),
    roleRef: readRoleRef(object.roleRef, namespace),
    reach: readReachOfKubernetes(kind, object.metadata),
    expiresAt: Number.POSITIVE_INFINITY,
    agents: false,
    approval: 'none',
    maxPassSeconds: Number.POSITIVE_INFINITY,
  };
}

/**
 * Everywhere, as in Kubernetes. A stored key of our domain that the API refuses was meant to restrict the binding: it
 * holds nowhere.
 */
function readReachOfKubernetes(kind: string, { annotations, labels, deletionTimestamp }: ObjectMeta): Reach {
  // A finalizer may keep the object, not the permission.
  if (deletionTimestamp !== undefined) return { kind: 'nowhere', reason: BEING_DELETED };
  const pairs = (value: unknown) => (isJsonObject(value) ? (value as Record<string, string>) : {});
  const [problem] = validateDomainKeys(kind, { annotations: pairs(annotations), labels: pairs(labels) });
  return problem === undefined
    ? { kind: 'everywhere' }
    : { kind: 'nowhere', reason: `${problem.field}: ${problem.detail}` };
}

export const bindingId = ({ kind, namespace, name }: Pick<BindingFacts, 'kind' | 'namespace' | 'name'>): string =>
  namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;

/**
 * Reads a stored FleetRoleBinding. It was validated when it was written, but others can write to the store as well: a
 * field that cannot be read makes the binding hold nowhere.
 */
function readFleetBinding({ spec, metadata }: ApiObject, name: string): BindingFacts {
  const namespaces = memberOf(spec, 'namespaces');
  const scopes = isStrings(namespaces) && namespaces.length > 0 ? namespaces : [''];
  const roleRef = memberOf(spec, 'roleRef');
  return {
    id: bindingId({ kind: 'FleetRoleBinding', namespace: '', name }),
    kind: 'FleetRoleBinding',
    namespace: '',
    scopes,
    name,
    subjects: readSubjects(memberOf(spec, 'subjects'), ''),
    roleRef: readRoleRef(roleRef, scopes[0] ?? ''),
    reach: metadata.deletionTimestamp === undefined ? readReach(spec) : { kind: 'nowhere', reason: BEING_DELETED },
    expiresAt: readExpiry(spec),
    agents: memberOf(spec, 'agents') === AGENTS_ALLOW,
    approval: readApproval(spec) ?? 'none',
    maxPassSeconds: readMaxPassSeconds(spec) ?? Number.POSITIVE_INFINITY,
  };
}

const BEING_DELETED = 'it is being deleted';

/** In epoch milliseconds. An expiry that cannot be parsed counts as expired. */
function readExpiry(spec: unknown): number {
  const text = memberOf(spec, 'expiresAt');
  if (text === undefined) return Number.POSITIVE_INFINITY;
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? Number.NEGATIVE_INFINITY : time;
}

const APPROVALS: ReadonlyMap<unknown, BindingFacts['approval']> = new Map([
  ['Requester', 'confirm'],
  ['Approver', 'review'],
  ['ApproverAlways', 'review-always'],
]);

function readApproval(spec: unknown): BindingFacts['approval'] | undefined {
  const approval = memberOf(spec, 'approval');
  return approval === undefined ? 'none' : APPROVALS.get(memberOf(approval, 'by'));
}

function readMaxPassSeconds(spec: unknown): number | undefined {
  const seconds = memberOf(spec, 'maxPassSeconds');
  if (seconds === undefined) return Number.POSITIVE_INFINITY;
  return typeof seconds === 'number' && seconds > 0 ? seconds : undefined;
}

const FIELDS: readonly string[] = Object.keys(SpecSchema.properties);

/** Where the binding of this spec holds. */
function readReach(spec: unknown): Reach {
  const nowhere = (at: string, why: string): Reach => ({ kind: 'nowhere', reason: `spec.${at}: ${why}` });
  const unknown = unknownKey(spec, FIELDS);
  if (unknown !== undefined) return nowhere(unknown, 'unknown field');
  const namespaces = memberOf(spec, 'namespaces');
  if (namespaces !== undefined && !(isStrings(namespaces) && namespaces.length > 0)) {
    return nowhere('namespaces', 'not a list of names');
  }
  if (readExpiry(spec) === Number.NEGATIVE_INFINITY) return nowhere('expiresAt', 'not a time');
  if (readApproval(spec) === undefined) return nowhere('approval', 'unknown value');
  if (readMaxPassSeconds(spec) === undefined) return nowhere('maxPassSeconds', 'not a number of seconds');
  try {
    return reachOf(memberOf(spec, 'clusters'));
  } catch (error) {
    return nowhere('clusters', error instanceof Error ? error.message : String(error));
  }
}

/** @throws TypeError if it cannot be read. */
function reachOf(value: unknown): Reach {
  if (!isJsonObject(value)) throw new TypeError('missing');
  const { all, names, selector, uid, ...rest } = value as ClustersField & Record<string, unknown>;
  const chosen = [all, names, selector].filter((choice) => choice !== undefined);
  if (chosen.length !== 1 || Object.keys(rest).length > 0) throw new TypeError('not one of all, names and selector');
  if (uid !== undefined && (typeof uid !== 'string' || names?.length !== 1))
    throw new TypeError('a uid needs one name');
  if (all !== undefined) {
    if (all !== true) throw new TypeError('all is not true');
    return { kind: 'everywhere' };
  }
  if (names !== undefined) {
    if (!isStrings(names) || names.length === 0) throw new TypeError('not a list of names');
    const requirement = { key: NAME_LABEL, operator: 'in', values: [...new Set(names)].sort() } as const;
    return {
      kind: 'clusters',
      selector: new ClusterSelector(new LabelSelector([requirement])),
      ...(uid === undefined ? {} : { bound: `${names[0]}/${uid}` }),
    };
  }
  const labels = readSelector(selector);
  if (labels.isEmpty) throw new TypeError('an empty selector');
  return { kind: 'clusters', selector: new ClusterSelector(labels) };
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

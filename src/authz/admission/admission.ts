import { type Authorizer, clusterQuestion, namespaceAskedAbout, questionAbout } from '../../api/authorization.ts';
import type { Caller, Identity } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { TOKEN_CHECKS_ANNOTATION } from '../../api/clusters/annotations.ts';
import { CONFIRM_VERB, CONFIRMED_ANNOTATION, ID_KEY } from '../../api/clusters/confirmed-endpoint.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { CLUSTER_ID_ANNOTATION, IMPORTED_ANNOTATION, MIRROR_VERB, MIRRORED_ANNOTATION } from '../../api/domain-keys.ts';
import { type ApiObject, fleetKey, type Kind } from '../../api/kind.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import { serviceAccountKind } from '../../api/kinds/core.ts';
import { bindingSpec } from '../../api/kinds/fleet-role-binding.ts';
import { orderSpec, orderStatus, tokenOrderKind } from '../../api/kinds/token-order.ts';
import type { ApiRequest } from '../../api/request.ts';
import { conflict, type FieldError, forbiddenField, invalid, invalidValue, required } from '../../api/status.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { requirePermission } from '../forbidden.ts';
import type { Policy } from '../policy/policy.ts';
import { checkLabels, type LabelPolicy } from './check-labels.ts';
import { checkGrant } from './escalation.ts';

interface AdmissionParts {
  readonly policy: Policy;
  readonly catalog: Pick<Catalog, 'clusters'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * What a write needs beyond the permission to write the object, and what its writer is warned of. `old` is undefined on
 * create.
 *
 * @throws ApiError of the first check that fails
 */
type Admission = (
  request: Pick<ApiRequest, 'caller' | 'target' | 'warn'>,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
) => void;

/** The checks in order. Each returns at once for objects that it is not about. */
export function createAdmission(parts: AdmissionParts): Admission {
  const { policy, catalog, reader, now } = parts;
  const idOf = (cluster: string): string | undefined =>
    reader.find(catalog.clusters, fleetKey(cluster))?.object().metadata.annotations?.[CLUSTER_ID_ANNOTATION];
  return ({ caller, target, warn }, kind, object, old) => {
    checkGrant(policy, caller, kind, object, old);
    checkExpiry(kind, object, old, now());
    checkAnnotations(policy, caller, kind, object, old);
    checkLabels(policy, caller, kind, object, old);
    checkOrder(kind, object, old, now());
    checkMirror(policy, caller, kind, object, old, target.cluster, idOf);
    if (kind !== catalog.clusters) return;
    findSecondNames(parts, caller, object, (what, names) => warn(`${what} is registered as ${names}`), old);
  };
}

/** Clusters that are looked at for one address or id, also hidden ones, and that one warning names. */
const MAX_SEEN = 200;
const MAX_NAMES = 5;

/**
 * Tells under which other names a cluster is registered, those that the caller may list. The id of a cluster of which
 * the caller sees the public view does not count: a warning would tell what is hidden.
 */
export function findSecondNames(
  { policy, catalog: { clusters }, reader }: Pick<AdmissionParts, 'policy' | 'catalog' | 'reader'>,
  caller: Parameters<Policy['ruleFor']>[0],
  object: ApiObject,
  tell: (what: string, names: string) => void,
  old?: ApiObject,
): void {
  const known = new Map(old && clusters.identities?.(old));
  for (const [key, value] of new Map(clusters.identities?.(object))) {
    if (known.get(key) === value) continue;
    const verbs = key === ID_KEY ? (['list', 'update'] as const) : (['list'] as const);
    const rules = verbs.map((verb) => policy.ruleFor(caller, verb));
    const entries = reader.cache(clusters).current.withLabel(key, value).take(MAX_SEEN);
    const others = entries.filter(({ name }) => name !== object.metadata.name);
    const visible = others.filter(({ name, labels }) => rules.every((rule) => rule.admits(name, labels)));
    const names = Array.from(visible.take(MAX_NAMES), ({ name }) => name);
    const what = key === ID_KEY ? 'the same cluster id' : `${key} with the same CA`;
    if (names.length > 0) tell(what, names.join(', '));
  }
}

/** Statements about a cluster on which others rely, and the verb on the cluster that it takes to make one. */
const STATEMENTS: readonly { readonly annotation: string; readonly verb: string; readonly isFreeOnCreate?: true }[] = [
  // A caller who may change the address of a cluster could confirm its own server and receive the credential.
  { annotation: CONFIRMED_ANNOTATION, verb: CONFIRM_VERB },
  // Who says that a cluster refuses revoked tokens tells the owner of a stolen one that it is refused.
  { annotation: TOKEN_CHECKS_ANNOTATION, verb: CONFIRM_VERB },
  // `clusterpass sync import --prune` deletes clusters that have its mark and are not in the hub.
  { annotation: IMPORTED_ANNOTATION, verb: 'delete', isFreeOnCreate: true },
];

/** @throws ApiError 403 for a statement that the caller may not make */
export function checkAnnotations(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  kind: Pick<Kind, 'group' | 'resource'>,
  { metadata }: ApiObject,
  old: ApiObject | undefined,
): void {
  if (!isClusters(kind)) return;
  for (const { annotation, verb, isFreeOnCreate = false } of STATEMENTS) {
    const value = metadata.annotations?.[annotation];
    // Nothing follows from a statement that is removed: permission to update the cluster is enough.
    if (value === undefined || value === old?.metadata.annotations?.[annotation]) continue;
    if (old !== undefined || !isFreeOnCreate) {
      requirePermission(authorizer, caller, clusterQuestion(verb, metadata.name ?? ''));
    }
  }
}

/**
 * A copy of an object of a cluster has a UID that the client chooses, so tokens of a deleted account could be made
 * valid again. It takes a separate permission to create one, and to change what an object is a copy of. If the identity
 * of the cluster is known (`idOf`), copies of another cluster are refused: the program that makes them may be connected
 * to another one, and does not see the identity.
 *
 * @throws ApiError 403, or 409 for a copy from another cluster
 */
function checkMirror(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  { inCluster, group, resource }: Pick<Kind, 'inCluster' | 'group' | 'resource'>,
  { metadata }: ApiObject,
  old: ApiObject | undefined,
  cluster: string | undefined,
  idOf: (cluster: string) => string | undefined,
): void {
  if (!inCluster) return;
  const mark = metadata.annotations?.[MIRRORED_ANNOTATION];
  if (mark === old?.metadata.annotations?.[MIRRORED_ANNOTATION]) return;
  const object = { group, resource, namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
  const about = { name: object.name, namespace: namespaceAskedAbout(object), cluster };
  requirePermission(authorizer, caller, questionAbout(object, MIRROR_VERB, about));
  const id = mark === undefined ? undefined : idOf(cluster ?? '');
  if (id === undefined || id === mark) return;
  throw conflict({ group, resource }, object.name, `it is a copy from another cluster than ${goQuote(cluster ?? '')}`);
}

/**
 * A binding that is created after its end would never grant anything: the year is wrong, or the file is old. An update
 * may end a binding at once.
 *
 * @throws ApiError 422
 */
function checkExpiry(kind: Kind, object: ApiObject, old: ApiObject | undefined, now: number): void {
  if (object.kind !== 'FleetRoleBinding' || old !== undefined) return;
  const { expiresAt } = bindingSpec(object);
  if (expiresAt === undefined || Date.parse(expiresAt) > now) return;
  const why = 'is in the past: the binding would never grant anything';
  throw invalid(kind, object.metadata.name ?? '', [invalidValue('spec.expiresAt', expiresAt, why)]);
}

/**
 * What a connector writes to an order: once who does it, and then once its answer, while the order can be answered. So
 * an order is done at most once, with any number of connectors.
 *
 * @throws ApiError 409 for an order that has ended, by the clock of this server, and 422
 */
function checkOrder(kind: Kind, object: ApiObject, old: ApiObject | undefined, now: number): void {
  if (kind !== tokenOrderKind || old === undefined) return;
  const name = object.metadata.name ?? '';
  const before = orderStatus(old);
  const after = orderStatus(object);
  const errors: FieldError[] = [];
  for (const field of ['phase', 'expirationTimestamp'] as const) {
    if (before[field] !== after[field]) errors.push(forbiddenField(`status.${field}`, 'is set by the server'));
  }
  for (const field of ['claimedBy', 'claimTime', 'answer'] as const) {
    if (before[field] === after[field] || before[field] === undefined) continue;
    errors.push(forbiddenField(`status.${field}`, 'was set already'));
  }
  if (after.answer !== undefined && before.claimedBy === undefined) {
    errors.push(required('status.claimedBy', 'an order is claimed before it is answered'));
  }
  if (errors.length > 0) throw invalid(kind, name, errors);
  const endsAt = Date.parse(orderSpec(old).expirationTimestamp ?? '');
  if (before.phase !== undefined || !(endsAt > now)) throw conflict(kind, name, 'it has ended');
}

/**
 * A bootstrap token registers a cluster with the permissions that its creator has at that time: to create clusters, and
 * to give a cluster these labels (ADR 23). For a connector of a registered cluster, `old`: to update that, and to copy
 * accounts into it, as the connector does. `creator` is the user that the token recorded.
 *
 * @throws ApiError 403
 */
export function checkJoin(
  policy: LabelPolicy & Pick<Authorizer, 'decide'>,
  creator: Identity,
  clusters: Kind,
  cluster: ApiObject,
  old?: ApiObject,
): void {
  const { name = '' } = old?.metadata ?? {};
  const verb = old === undefined ? 'create' : 'update';
  requirePermission(policy, creator, questionAbout(clusters, verb, { name }));
  checkLabels(policy, creator, clusters, cluster, old);
  if (old === undefined) return;
  requirePermission(policy, creator, questionAbout(serviceAccountKind, MIRROR_VERB, { cluster: name }));
}

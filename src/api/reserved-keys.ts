import { clip } from '../lib/text.ts';
import { COMPUTED_ANNOTATIONS, PROBE_ANNOTATION, TOKEN_CHECKS_ANNOTATION } from './clusters/annotations.ts';
import { CONFIRMED_ANNOTATION } from './clusters/confirmed-endpoint.ts';
import {
  CLUSTER_ID_ANNOTATION,
  ENDPOINT_AUTHORS_ANNOTATION,
  IMPORTED_ANNOTATION,
  IN_CLUSTER_ANNOTATION,
  JOINED_ANNOTATION,
  MANIFEST_ANNOTATION,
  MIRRORED_ANNOTATION,
  PROTECTED_LABEL_PREFIX,
} from './domain-keys.ts';
import type { ObjectMeta } from './kind.ts';
import { ACCESS_REQUEST_LABEL } from './kinds/access-request.ts';
import { REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL } from './kinds/approval-kind.ts';
import { BINDING_LABEL, COUNTED_LABEL, REQUESTER_LABEL } from './kinds/issued-token.ts';
import { PASS_APPROVAL_LABEL } from './kinds/pass-spec.ts';
import { TOKEN_ANNOTATIONS } from './kinds/token-request.ts';
import { checkEach, type FieldError, invalidValue } from './status.ts';

/**
 * The annotations and labels of the domain `clusterpass.dev`. The domain is reserved: a key that a kind does not have
 * is an error and is never ignored, because its writer relies on it.
 */

const DOMAIN = 'clusterpass.dev';

const IN_CLUSTER_KINDS = ['Namespace', 'ServiceAccount', 'Pod', 'Secret', 'TokenOrder'];
const BINDINGS = ['ClusterRoleBinding', 'RoleBinding', 'FleetRoleBinding'];

/** Keys that look like restrictions of a binding, and the field that is one. */
const FIELDS_OF_BINDINGS: ReadonlyMap<string, string> = new Map([
  ['clusterpass.dev/clusters', 'spec.clusters'],
  ['clusterpass.dev/bound-cluster', 'spec.clusters.uid'],
  ['clusterpass.dev/expires-at', 'spec.expiresAt'],
  ['clusterpass.dev/agents', 'spec.agents'],
  ['clusterpass.dev/approval', 'spec.approval.by'],
]);

/** Each annotation, and the kinds that have it. Programs set some, and clients send back what they have read. */
const ANNOTATIONS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  [IN_CLUSTER_ANNOTATION, IN_CLUSTER_KINDS],
  [PROBE_ANNOTATION, ['Cluster']],
  [CONFIRMED_ANNOTATION, ['Cluster']],
  [CLUSTER_ID_ANNOTATION, ['Cluster']],
  [IMPORTED_ANNOTATION, ['Cluster']],
  [TOKEN_CHECKS_ANNOTATION, ['Cluster']],
  ...Object.values(TOKEN_ANNOTATIONS).map((key): [string, string[]] => [key, ['TokenRequest']]),
  ...[...Object.values(COMPUTED_ANNOTATIONS), JOINED_ANNOTATION, ENDPOINT_AUTHORS_ANNOTATION].map(
    (key): [string, string[]] => [key, ['Cluster']],
  ),
  [MIRRORED_ANNOTATION, ['Namespace', 'ServiceAccount', 'Pod']],
]);

/** Each label, and the kinds that have it. The server sets them. */
const LABELS: ReadonlyMap<string, readonly string[]> = new Map([
  [REQUESTER_LABEL, ['IssuedToken', 'AccessRequest', 'Pass', 'RevokedToken']],
  [COUNTED_LABEL, ['IssuedToken', 'AccessRequest', 'Pass', 'RevokedToken', 'BootstrapToken']],
  [REQUEST_CLUSTER_LABEL, ['AccessRequest', 'Pass']],
  [REQUEST_NAMESPACE_LABEL, ['AccessRequest', 'Pass']],
  [BINDING_LABEL, ['IssuedToken']],
  [PASS_APPROVAL_LABEL, ['Pass']],
  [ACCESS_REQUEST_LABEL, ['FleetRoleBinding', 'ClusterRole', 'Role']],
]);

/** Characters of a key that an error repeats. */
const MAX_SHOWN = 128;

/** Whether the key is in our domain. Kubernetes accepts capitals in the prefix of an annotation. */
function isDomainKey(key: string): boolean {
  const prefix = key.slice(0, Math.max(0, key.indexOf('/'))).toLowerCase();
  return prefix === DOMAIN || prefix.endsWith(`.${DOMAIN}`);
}

/** Whether a label is in our domain and is none that a cluster can have. */
export const isReservedLabel = (key: string): boolean => isDomainKey(key) && !key.startsWith(PROTECTED_LABEL_PREFIX);
export const RESERVED_LABEL = `no cluster has this label: the domain ${DOMAIN} is reserved`;

const isKnownAnnotation = (kind: string, key: string): boolean =>
  !isDomainKey(key) || key === MANIFEST_ANNOTATION || ANNOTATIONS.get(key)?.includes(kind) === true;

/** Protected labels are those of people; the others are set by the server. */
const isKnownLabel = (kind: string, key: string): boolean =>
  !isDomainKey(key) || (kind === 'Cluster' ? !isReservedLabel(key) : LABELS.get(key)?.includes(kind) === true);

function unknownAnnotationText(kind: string, key: string): string {
  const field = BINDINGS.includes(kind) ? FIELDS_OF_BINDINGS.get(key) : undefined;
  const instead = field === undefined ? '' : `: use the field ${field} of a FleetRoleBinding`;
  return `is not an annotation of a ${kind}${instead}`;
}

const unknownLabelText = (kind: string): string =>
  kind === 'Cluster'
    ? `the domain ${DOMAIN} is reserved: the labels of a cluster in it begin with ${PROTECTED_LABEL_PREFIX}`
    : `is not a label of a ${kind}`;

/**
 * Refuses keys of our domain that objects of this kind do not have. A stored pair is accepted: it must not block other
 * changes of its object.
 */
export function validateDomainKeys(kind: string, metadata: ObjectMeta, old?: ObjectMeta): FieldError[] {
  const { annotations = {}, labels = {} } = metadata;
  return [
    ...checkEach(changedKeys(annotations, old?.annotations), (key) =>
      isKnownAnnotation(kind, key) ? [] : [unknownKey('metadata.annotations', key, unknownAnnotationText(kind, key))],
    ),
    ...labelErrors(kind, changedKeys(labels, old?.labels), 'metadata.labels'),
  ];
}

/** Refuses keys of our domain in the labels that a field has for an object of this kind. */
export const validateDomainLabels = (
  kind: string,
  labels: Readonly<Record<string, string>>,
  field: string,
): FieldError[] => labelErrors(kind, Object.keys(labels), field);

const labelErrors = (kind: string, keys: readonly string[], field: string): FieldError[] =>
  checkEach(keys, (key) => (isKnownLabel(kind, key) ? [] : [unknownKey(field, key, unknownLabelText(kind))]));

function unknownKey(map: string, key: string, why: string): FieldError {
  const shown = clip(key, MAX_SHOWN);
  return invalidValue(`${map}[${shown}]`, shown, why);
}

const changedKeys = (now: Readonly<Record<string, string>>, old: Readonly<Record<string, string>> = {}): string[] =>
  now === old ? [] : Object.keys(now).filter((key) => !Object.hasOwn(old, key) || old[key] !== now[key]);

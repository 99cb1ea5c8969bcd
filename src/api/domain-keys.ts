import { distance, nearest } from '../lib/nearest.ts';
import { clip } from '../lib/text.ts';
import { CONFIRMED_ANNOTATION } from './clusters/confirmed-endpoint.ts';
import { PROBE_ANNOTATION } from './clusters/probe-annotation.ts';
import { checkEach, type FieldError, invalidValue } from './field-error.ts';
import type { ObjectMeta } from './kind.ts';
import { ACCESS_REQUEST_LABEL } from './kinds/access-request.ts';
import { REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL } from './kinds/approval-kind.ts';
import { BINDING_LABEL, COUNTED_LABEL, REQUESTER_LABEL } from './kinds/issued-token.ts';
import { PASS_APPROVAL_LABEL } from './kinds/pass-spec.ts';
import {
  AGENTS_ANNOTATION,
  APPROVAL_ANNOTATION,
  BOUND_ANNOTATION,
  CLUSTERS_ANNOTATION,
  EXPIRES_ANNOTATION,
} from './kinds/rbac.ts';
import { TOKEN_ANNOTATIONS } from './kinds/token-request.ts';

/**
 * The annotations and labels of the domain `clusterpass.dev`. The domain is reserved: a key that does not exist is an
 * error and is never ignored, because a binding whose annotation is misspelled would hold in the whole fleet.
 */

const DOMAIN = 'clusterpass.dev';
const PRODUCT = 'clusterpass';

/** In a manifest: the cluster of an object that lives in a cluster. */
export const IN_CLUSTER_ANNOTATION = 'clusterpass.dev/in-cluster';

/**
 * `<source>:<file>`, the origin of an object that was created from a file of a manifests folder: only these are pruned.
 * The server sets it. A client cannot add or change it: a copy of such an object under another name would be pruned. A
 * client may remove it; the object then belongs to the API.
 */
export const MANIFEST_ANNOTATION = 'clusterpass.dev/manifest';

/** The identity of a registered cluster: the UID of its namespace `kube-system`. */
export const CLUSTER_ID_ANNOTATION = 'clusterpass.dev/cluster-id';

/**
 * `<source>/<hub>/<namespace>/<name>`: where `clusterpass sync import` has found the cluster. It changes and deletes
 * only clusters that have its annotation.
 */
export const IMPORTED_ANNOTATION = 'clusterpass.dev/imported-from';

/**
 * On a copy of an object of a cluster: the identity of that cluster. A caller with the verb `MIRROR_VERB` sets it, and
 * then the UID as well: `clusterpass mirror`.
 */
export const MIRRORED_ANNOTATION = 'clusterpass.dev/mirrored-from';

/** The verb on namespaces, service accounts and Pods of a cluster for copies with the UIDs of that cluster. */
export const MIRROR_VERB = 'mirror';

/** `<name>/<uid>` of the bootstrap token with which the cluster has registered itself. The server sets it. */
export const JOINED_ANNOTATION = 'clusterpass.dev/joined-with';

/**
 * `webhook`: the API server of the cluster asks for each token whether it is accepted, so that a revocation reaches it.
 * Set by the operator, with the verb `CONFIRM_VERB`. The command line and the console derive from it when a revocation
 * takes effect.
 */
export const TOKEN_CHECKS_ANNOTATION = 'clusterpass.dev/token-checks';
export const TOKEN_CHECKS_CHOICES = ['webhook'];

/** Annotations that describe the tokens of a cluster; computed for each view, never stored. */
export const COMPUTED_ANNOTATIONS = {
  issuer: 'clusterpass.dev/issuer',
  audience: 'clusterpass.dev/audience',
  maxExpiration: 'clusterpass.dev/max-expiration-seconds',
} as const;

/** Labels of a cluster below this prefix are set and removed only with the verb `PROTECT_VERB`. */
export const PROTECTED_LABEL_PREFIX = 'protected.clusterpass.dev/';

/** A computed label: for the selectors of bindings, every cluster has it with its name as the value. */
export const NAME_LABEL = 'kubernetes.io/metadata.name';

/** The verb on the cluster that a change of its protected labels requires. */
export const PROTECT_VERB = 'protect';

const BINDINGS = ['ClusterRoleBinding', 'RoleBinding'];
const IN_CLUSTER_KINDS = ['Namespace', 'ServiceAccount', 'Pod', 'Secret'];

/** Each annotation, and the kinds that have it. */
const ANNOTATIONS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  [CLUSTERS_ANNOTATION, BINDINGS],
  [EXPIRES_ANNOTATION, BINDINGS],
  [BOUND_ANNOTATION, BINDINGS],
  [AGENTS_ANNOTATION, BINDINGS],
  [APPROVAL_ANNOTATION, BINDINGS],
  [IN_CLUSTER_ANNOTATION, IN_CLUSTER_KINDS],
  [PROBE_ANNOTATION, ['Cluster']],
  [CONFIRMED_ANNOTATION, ['Cluster']],
  [CLUSTER_ID_ANNOTATION, ['Cluster']],
  [IMPORTED_ANNOTATION, ['Cluster']],
  [TOKEN_CHECKS_ANNOTATION, ['Cluster']],
  ...Object.values(TOKEN_ANNOTATIONS).map((key): [string, string[]] => [key, ['TokenRequest']]),
]);

/** Each label, and the kinds that have it. The server sets them. */
const LABELS: ReadonlyMap<string, readonly string[]> = new Map([
  [REQUESTER_LABEL, ['IssuedToken', 'AccessRequest', 'Pass', 'RevokedToken']],
  [COUNTED_LABEL, ['IssuedToken', 'AccessRequest', 'Pass']],
  [REQUEST_CLUSTER_LABEL, ['AccessRequest', 'Pass']],
  [REQUEST_NAMESPACE_LABEL, ['AccessRequest', 'Pass']],
  [BINDING_LABEL, ['IssuedToken']],
  [PASS_APPROVAL_LABEL, ['Pass']],
  [ACCESS_REQUEST_LABEL, [...BINDINGS, 'ClusterRole', 'Role']],
]);

const BY_KIND: ReadonlyMap<string, readonly string[]> = new Map(
  [...new Set([...ANNOTATIONS.values()].flat())].map((kind) => [
    kind,
    [...ANNOTATIONS].filter(([, kinds]) => kinds.includes(kind)).map(([key]) => key),
  ]),
);

/** Accepted and not suggested: programs set them, and clients send back what they have read. */
const COMPUTED: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['Cluster', [...Object.values(COMPUTED_ANNOTATIONS), JOINED_ANNOTATION]],
  ...['Namespace', 'ServiceAccount', 'Pod'].map((kind): [string, string[]] => [kind, [MIRRORED_ANNOTATION]]),
]);

const annotationsOf = (kind: string): readonly string[] => BY_KIND.get(kind) ?? [];

const nameIn = (key: string): string => key.slice(key.indexOf('/') + 1);

/** Characters of a key that an error repeats. */
const MAX_SHOWN = 128;

/** Two typing errors at most. */
const MAX_DISTANCE = 2;

const isNear = (text: string, other: string): boolean =>
  Math.abs(text.length - other.length) <= MAX_DISTANCE && distance(text, other) <= MAX_DISTANCE;

/** Whether the key is in our domain. Kubernetes accepts capitals in the prefix of an annotation. */
function isDomainKey(key: string): boolean {
  const prefix = key.slice(0, Math.max(0, key.indexOf('/'))).toLowerCase();
  return prefix === DOMAIN || prefix.endsWith(`.${DOMAIN}`);
}

/** Whether a label is in our domain and is none that a cluster can have. */
export const isReservedLabel = (key: string): boolean => isDomainKey(key) && !key.startsWith(PROTECTED_LABEL_PREFIX);
export const RESERVED_LABEL = `no cluster has this label: the domain ${DOMAIN} is reserved`;

/** Longer keys are refused by their length, or are of no kind that reads them. */
const MAX_KEY = 512;

const squash = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, '');

/** What follows the name of the product, or a misspelling of it, in a key; undefined when it does not occur. */
function afterProduct(key: string): string | undefined {
  const whole = squash(key);
  const at = whole.indexOf(PRODUCT);
  if (at >= 0) return whole.slice(at + PRODUCT.length);
  const words = key.toLowerCase().split(/[^a-z0-9]+/);
  const misspelled = words.findIndex((word) => isNear(word, PRODUCT));
  return misspelled < 0 ? undefined : words.slice(misspelled + 1).join('');
}

/**
 * A key that was probably meant as a known key of the kind: the domain with something around it
 * (`clusterpass.dev.io/clusters`), or the product and the name of the key in another form (`clusterpas.dev/clusters`,
 * `clusterpass-clusters`).
 */
function looksLikeOurs(key: string, known: readonly string[]): boolean {
  if (key.toLowerCase().includes(DOMAIN)) return true;
  if (known.length === 0 || key.length > MAX_KEY) return false;
  const rest = afterProduct(key);
  return rest !== undefined && known.some((each) => endsNear(rest, squash(nameIn(each))));
}

/** Fewer typing errors in a short name: `for` would be near any other word of three letters. */
function endsNear(text: string, name: string): boolean {
  const allowed = Math.min(MAX_DISTANCE, Math.floor(name.length / 4));
  for (let length = name.length - allowed; length <= name.length + allowed; length++) {
    if (text.length >= length && distance(text.slice(-length), name) <= allowed) return true;
  }
  return false;
}

/** The first annotation that an object of this kind cannot have; see `validateDomainKeys`. */
export function unknownAnnotation(kind: string, annotations: Readonly<Record<string, unknown>>): string | undefined {
  const known = annotationsOf(kind);
  return Object.keys(annotations).find((key) => !isKnownAnnotation(kind, key, known));
}

const isKnownAnnotation = (kind: string, key: string, known: readonly string[]): boolean =>
  known.includes(key) ||
  key === MANIFEST_ANNOTATION ||
  COMPUTED.get(kind)?.includes(key) === true ||
  !looksLikeOurs(key, known);

/** Other words for the annotation of a binding that names its clusters. */
const CLUSTERS_WORDS = ['cluster', 'clusterselector'];

/** The domains of Kubernetes, in which no annotation has the name of one of ours. */
const KUBERNETES_DOMAIN = /(?:^|\.)(?:kubernetes|k8s)\.io$/;

/** The annotation of a binding that has the name of this key, in whatever domain. */
function sameName(kind: string, key: string): string | undefined {
  if (!BINDINGS.includes(kind)) return undefined;
  const name = squash(nameIn(key));
  return CLUSTERS_WORDS.includes(name)
    ? CLUSTERS_ANNOTATION
    : annotationsOf(kind).find((each) => squash(nameIn(each)) === name);
}

/** Whether the key is in the domain of an organization: neither Kubernetes nor a word such as `orchestrator`. */
function isOfOrganization(key: string): boolean {
  const prefix = key.slice(0, Math.max(0, key.indexOf('/'))).toLowerCase();
  return prefix.includes('.') && !KUBERNETES_DOMAIN.test(prefix);
}

/**
 * The annotation of a binding that was meant by a key with its name and without our domain: `clusters`,
 * `orchestrator/clusters`, `kubernetes.io/expires-at`. The binding would hold everywhere, or without end.
 */
const meantWithDomain = (kind: string, key: string): string | undefined =>
  isOfOrganization(key) ? undefined : sameName(kind, key);

/** The annotation of a binding that may be meant by a key with its name in a domain that is not ours. */
export const sameNameElsewhere = (kind: string, key: string): string | undefined =>
  isOfOrganization(key) && !isDomainKey(key) ? sameName(kind, key) : undefined;

/** Whether the key has the name of the annotation in it, also in the singular. */
const mentions = (key: string, annotation: string): boolean =>
  key.toLowerCase().includes(nameIn(annotation).replace(/s$/, ''));

/** A guess at the misspelled annotation: the nearest of the kind, one with a common beginning, or the only one. */
function meantAnnotation(key: string, known: readonly string[]): string | undefined {
  const name = nameIn(key);
  const guess = nearest(name, known.map(nameIn));
  const isPart = (each: string): boolean => nameIn(each).startsWith(name) || name.startsWith(nameIn(each));
  return (
    known.find((each) => nameIn(each) === guess) ??
    known.find(isPart) ??
    (known.length === 1 ? known[0] : known.find((each) => mentions(key, each)))
  );
}

/** Why an object of this kind cannot have the annotation, and which key was meant. */
export function unknownAnnotationText(kind: string, key: string): string {
  if (key.startsWith(PROTECTED_LABEL_PREFIX)) return 'is a label: set it in metadata.labels';
  const known = annotationsOf(kind);
  const meant = meantWithDomain(kind, key) ?? meantAnnotation(key, known);
  if (meant !== undefined) return `is not an annotation of a ${kind}; did you mean ${JSON.stringify(meant)}?`;
  const owners = ANNOTATIONS.get(key);
  if (owners !== undefined) return `is not an annotation of a ${kind}: it belongs on a ${owners.join(' or ')}`;
  if (known.length === 0) return `a ${kind} has no annotations of ${DOMAIN}`;
  return `is not an annotation of a ${kind}, which has ${known.map((each) => JSON.stringify(each)).join(', ')}`;
}

const PROTECTED = 'protected';

/** Within two typing errors of the product, and a word of Cluster API. */
const CLUSTER_CLASS = 'clusterclass';

/**
 * The protected label that was probably meant by a label of a cluster: the domain, a misspelling of it, or another
 * domain that begins with `protected` (`protected.clusterpas.dev/env`, `protected/env`, `clusterpass-protected-env`).
 * Such a label would look protected and would not be.
 */
function meantProtectedLabel(key: string): string | undefined {
  if (key.startsWith(PROTECTED_LABEL_PREFIX)) return undefined;
  const slash = key.indexOf('/');
  const words = (slash < 0 ? key : key.slice(0, slash)).toLowerCase().split(/[^a-z0-9]+/);
  const isProduct = (word: string): boolean => word !== CLUSTER_CLASS && isNear(word, PRODUCT);
  const isProtected = (word: string): boolean => isNear(word, PROTECTED);
  const hasProduct = words.some(isProduct) || words.join('').includes(PRODUCT);
  const name = slash < 0 ? words.filter((word) => !isProduct(word) && !isProtected(word)).at(-1) : key.slice(slash + 1);
  const meant = `${PROTECTED_LABEL_PREFIX}${name ?? 'NAME'}`;
  if (key.toLowerCase().includes(DOMAIN)) return meant;
  // Without a domain, one of the words alone is an ordinary name: `protected-by`, `clusterpass-owner`.
  if (slash < 0) return hasProduct && words.some(isProtected) ? meant : undefined;
  return hasProduct || words[0] === PROTECTED ? meant : undefined;
}

/**
 * The label that was probably meant by a key in the selector of a binding. A label that no cluster has makes `!=`,
 * `notin` and `!` select every cluster.
 */
export function meantClusterLabel(key: string): string | undefined {
  if (key === NAME_LABEL) return undefined;
  return isNear(nameIn(key).toLowerCase(), nameIn(NAME_LABEL)) ? NAME_LABEL : meantProtectedLabel(key);
}

/** The first label that an object of this kind cannot have; see `validateDomainKeys`. */
export const unknownLabel = (kind: string, labels: Readonly<Record<string, unknown>>): string | undefined =>
  Object.keys(labels).find((key) => !isKnownLabel(kind, key));

export function unknownLabelText(kind: string, key: string): string {
  if (key.startsWith(PROTECTED_LABEL_PREFIX)) return 'protected labels belong on a Cluster';
  const known = annotationsOf(kind);
  const meant = meantAnnotation(
    key,
    BINDINGS.includes(kind) ? known : known.filter((each) => isNear(nameIn(key), nameIn(each))),
  );
  if (meant !== undefined) return `is not a label; did you mean the annotation ${JSON.stringify(meant)}?`;
  if (kind !== 'Cluster') return `a ${kind} has no labels of ${DOMAIN}`;
  const reserved = isDomainKey(key)
    ? `the domain ${DOMAIN} is reserved`
    : 'looks like a protected label and is not one';
  return `${reserved}; did you mean ${JSON.stringify(meantProtectedLabel(key))}?`;
}

/** Of a binding, also a label that was meant as the annotation is refused. */
function isKnownLabel(kind: string, key: string): boolean {
  if (kind === 'Cluster') return meantProtectedLabel(key) === undefined;
  return (
    LABELS.get(key)?.includes(kind) === true || !looksLikeOurs(key, BINDINGS.includes(kind) ? annotationsOf(kind) : [])
  );
}

/**
 * Refuses keys of our domain that objects of this kind do not have, and annotations of bindings that lack the domain. A
 * stored pair is accepted: it must not block other changes of its object. A stored binding whose annotation lacks the
 * domain holds as it did: another program may have set it.
 */
export function validateDomainKeys(kind: string, metadata: ObjectMeta, old?: ObjectMeta): FieldError[] {
  const known = annotationsOf(kind);
  const { annotations = {}, labels = {} } = metadata;
  return [
    ...checkEach(changedKeys(annotations, old?.annotations), (key) =>
      isKnownAnnotation(kind, key, known) && (known.includes(key) || meantWithDomain(kind, key) === undefined)
        ? []
        : [unknownKey('metadata.annotations', key, unknownAnnotationText(kind, key))],
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
  checkEach(keys, (key) => (isKnownLabel(kind, key) ? [] : [unknownKey(field, key, unknownLabelText(kind, key))]));

function unknownKey(map: string, key: string, why: string): FieldError {
  const shown = clip(key, MAX_SHOWN);
  return invalidValue(`${map}[${shown}]`, shown, why);
}

const changedKeys = (now: Readonly<Record<string, string>>, old: Readonly<Record<string, string>> = {}): string[] =>
  now === old ? [] : Object.keys(now).filter((key) => !Object.hasOwn(old, key) || old[key] !== now[key]);

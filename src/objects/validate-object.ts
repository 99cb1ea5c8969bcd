import { isDeepStrictEqual } from 'node:util';
import { validateChoice } from '../api/annotation-choice.ts';
import { goQuote } from '../api/codec/go-text/go-quote.ts';
import { IN_CLUSTER_ANNOTATION, meantClusterLabel, validateDomainKeys } from '../api/domain-keys.ts';
import {
  checkEach,
  type FieldError,
  forbiddenField,
  invalidValue,
  MAX_FIELD_ERRORS,
  required,
  tooLong,
  tooMany,
} from '../api/field-error.ts';
import type { ApiObject, Kind, ObjectMeta, OwnerReference, UnchangedParts } from '../api/kind.ts';
import {
  AGENTS_ALLOWED,
  AGENTS_ANNOTATION,
  APPROVAL_ANNOTATION,
  BINDING_APPROVALS,
  BOUND_ANNOTATION,
  BOUND_WITHOUT_CLUSTERS,
  CLUSTERS_ANNOTATION,
  EXPIRES_ANNOTATION,
  parseBoundCluster,
  parseExpiry,
} from '../api/kinds/rbac.ts';
import {
  isDns1123Label,
  isDns1123Subdomain,
  isPathSegmentName,
  isQualifiedName,
  validateAnnotations,
  validateLabels,
} from '../api/names.ts';
import { hasControl } from '../lib/text.ts';
import { parseLabelSelector } from './selectors/label-selector.ts';
import { SelectorSyntaxError } from './selectors/selector-syntax-error.ts';

const NAME_RULES = {
  label: isDns1123Label,
  subdomain: isDns1123Subdomain,
  // Names are parts of storage keys and of paths, so control characters are refused too.
  'path-segment': (name: string) => [
    ...isPathSegmentName(name),
    ...(hasControl(name) ? ['may not contain control characters'] : []),
    ...(Buffer.byteLength(name) > 253 ? ['must be no more than 253 bytes'] : []),
  ],
} as const;

/** What is wrong with the name of an object of this kind. */
const nameProblems = (kind: Pick<Kind, 'nameRule'>, name: string): string[] => NAME_RULES[kind.nameRule](name);

interface ObjectContext {
  /** The cluster of the path; `""` for objects of the fleet. */
  readonly cluster: string;
  /** The object before an update. */
  readonly old?: ApiObject;
  readonly unchanged: UnchangedParts;
}

/** What is wrong with an object before it is written. */
export function validateObject(
  kind: Kind,
  object: ApiObject,
  { old, cluster, unchanged }: ObjectContext,
): FieldError[] {
  return [
    ...validateMetadata(kind, object.metadata, old?.metadata, unchanged),
    ...validateFinalizers(object.metadata, old?.metadata),
    ...validateOwners(object.metadata, old?.metadata),
    ...validateDomainKeys(kind.kind, object.metadata, old?.metadata),
    ...validateClustersAnnotation(kind, object.metadata, old?.metadata),
    ...validateExpiry(kind, object.metadata, old?.metadata),
    ...validateBoundCluster(kind, object.metadata, old?.metadata),
    ...validatePassAnnotations(kind, object.metadata, old?.metadata),
    ...validateInClusterAnnotation(kind, object.metadata, cluster),
    ...kind.validate(object, old, unchanged),
  ];
}

function validateMetadata(
  kind: Kind,
  metadata: ObjectMeta,
  old: ObjectMeta | undefined,
  unchanged: UnchangedParts,
): FieldError[] {
  const errors: FieldError[] = [];
  if ((metadata.name ?? '') === '') {
    errors.push(required('metadata.name', 'name or generateName is required'));
  } else if (metadata.name !== old?.name) {
    for (const problem of nameProblems(kind, metadata.name ?? '')) {
      errors.push(invalidValue('metadata.name', metadata.name, problem));
    }
  }
  if (kind.namespaced) {
    if ((metadata.namespace ?? '') === '') errors.push(required('metadata.namespace'));
    else {
      for (const problem of isDns1123Label(metadata.namespace ?? '')) {
        errors.push(invalidValue('metadata.namespace', metadata.namespace, problem));
      }
    }
  }
  const { labels, annotations } = metadata;
  if (labels !== undefined && !unchanged.has('labels')) errors.push(...validateLabels(labels, 'metadata.labels'));
  if (annotations !== undefined && !unchanged.has('annotations')) {
    errors.push(...validateAnnotations(annotations, 'metadata.annotations'));
  }
  return errors;
}

/** Finalizers delay a deletion. Once it has begun, none may be added. */
function validateFinalizers({ finalizers = [] }: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  const errors = checkEach(finalizers, (finalizer, index) =>
    isQualifiedName(finalizer).map((problem) => invalidValue(`metadata.finalizers[${index}]`, finalizer, problem)),
  );
  if (old?.deletionTimestamp === undefined) return errors;
  const known = new Set(old.finalizers);
  const added = finalizers.filter((finalizer) => !known.has(finalizer));
  if (added.length > 0) {
    const found = `found new finalizers []string{${added.slice(0, MAX_FIELD_ERRORS).map(goQuote).join(', ')}}`;
    const why = `no new finalizers can be added if the object is being deleted, ${found}`;
    errors.push(forbiddenField('metadata.finalizers', why));
  }
  return errors;
}

/** The texts and fields are those of ValidateOwnerReferences of apimachinery. */
function validateOwners({ ownerReferences = [] }: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  if (isDeepStrictEqual(ownerReferences, old?.ownerReferences ?? [])) return [];
  const at = 'metadata.ownerReferences';
  const [first, second] = ownerReferences.filter(({ controller }) => controller === true);
  const errors = checkEach(ownerReferences, (owner) => ownerErrors(at, owner));
  if (first === undefined || second === undefined) return errors;
  const found = `Found "true" in references for ${first.kind}/${first.name} and ${second.kind}/${second.name}`;
  const why = `Only one reference can have Controller set to true. ${found}`;
  return [...errors, invalidValue(at, ownerReferences, why)];
}

function ownerErrors(at: string, { apiVersion = '', kind = '', name = '', uid = '' }: OwnerReference): FieldError[] {
  const hasVersion = /^([^/]*\/)?[^/]+$/.test(apiVersion);
  const empty = Object.entries({ kind, name, uid }).filter(([, value]) => value === '');
  return [
    ...(hasVersion ? [] : [invalidValue(`${at}.apiVersion`, apiVersion, 'version must not be empty')]),
    ...empty.map(([field, value]) => invalidValue(`${at}.${field}`, value, `${field} must not be empty`)),
  ];
}

/** A binding whose end cannot be read grants nothing. */
function validateExpiry(kind: Kind, metadata: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  const text = metadata.annotations?.[EXPIRES_ANNOTATION];
  if (text === undefined || !kind.resource.endsWith('rolebindings')) return [];
  if (text === old?.annotations?.[EXPIRES_ANNOTATION] || parseExpiry(text) !== undefined) return [];
  const why = 'must be a time in UTC with seconds, e.g. 2026-11-16T18:00:00Z';
  return [invalidValue(`metadata.annotations[${EXPIRES_ANNOTATION}]`, text, why)];
}

/** A binding grants nothing if its bound cluster cannot be parsed, or if it has no annotation `clusters`. */
function validateBoundCluster(kind: Kind, metadata: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  const text = metadata.annotations?.[BOUND_ANNOTATION];
  if (text === undefined || !kind.resource.endsWith('rolebindings')) return [];
  const path = `metadata.annotations[${BOUND_ANNOTATION}]`;
  if (metadata.annotations?.[CLUSTERS_ANNOTATION] === undefined) {
    return [invalidValue(path, text, BOUND_WITHOUT_CLUSTERS)];
  }
  if (text === old?.annotations?.[BOUND_ANNOTATION] || parseBoundCluster(text) !== undefined) return [];
  return [invalidValue(path, text, 'must be NAME/UID of a cluster')];
}

/** Which passes a binding gives to whom. */
function validatePassAnnotations(kind: Kind, metadata: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  if (!kind.resource.endsWith('rolebindings')) return [];
  return [
    ...validateChoice(AGENTS_ANNOTATION, [AGENTS_ALLOWED], metadata, old),
    ...validateChoice(APPROVAL_ANNOTATION, BINDING_APPROVALS, metadata, old),
    ...validateApprovalOfAgents(metadata, old),
  ];
}

/** Without agents such an approval asks nothing of anyone, while its author relies on it. */
function validateApprovalOfAgents(metadata: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  const { [APPROVAL_ANNOTATION]: approval, [AGENTS_ANNOTATION]: agents } = metadata.annotations ?? {};
  if ((approval !== 'confirm' && approval !== 'review') || agents === AGENTS_ALLOWED) return [];
  const { [APPROVAL_ANNOTATION]: oldApproval, [AGENTS_ANNOTATION]: oldAgents } = old?.annotations ?? {};
  if (approval === oldApproval && agents === oldAgents) return [];
  const needed = `${goQuote(AGENTS_ANNOTATION)}: ${goQuote(AGENTS_ALLOWED)}`;
  const why = `without the annotation ${needed} it changes nothing; for people too, use "review-always"`;
  return [invalidValue(`metadata.annotations[${APPROVAL_ANNOTATION}]`, approval, why)];
}

/** Room for 2,000 names of clusters. Parsing three megabytes of selector took 500 ms, and this much takes 15. */
const MAX_SELECTOR_LENGTH = 64 * 1024;
/** All of them are compiled and compared whenever the binding is evaluated. */
const MAX_REQUIREMENTS = 100;

/** An empty selector would select every cluster, and is more often a template that rendered to nothing. */
const EMPTY_SELECTOR = 'must not be empty; "kubernetes.io/metadata.name" selects all clusters';

/** A binding with an invalid selector would apply to no cluster, one with a negated unknown label to all. */
function validateClustersAnnotation(kind: Kind, metadata: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  const selector = metadata.annotations?.[CLUSTERS_ANNOTATION];
  if (selector === undefined || !kind.resource.endsWith('rolebindings')) return [];
  const field = `metadata.annotations[${CLUSTERS_ANNOTATION}]`;
  const changed = selector !== old?.annotations?.[CLUSTERS_ANNOTATION];
  if (changed && selector.length > MAX_SELECTOR_LENGTH) return [tooLong(field, MAX_SELECTOR_LENGTH)];
  const wrong = (why: string): FieldError => invalidValue(field, selector, why);
  try {
    const { requirements } = parseLabelSelector(selector);
    if (!changed) return [];
    const { length } = requirements;
    if (length === 0) return [wrong(EMPTY_SELECTOR)];
    if (length > MAX_REQUIREMENTS) return [tooMany(field, length, MAX_REQUIREMENTS)];
    for (const { key } of requirements) {
      const meant = meantClusterLabel(key);
      if (meant !== undefined) {
        return [wrong(`selects by the label ${goQuote(key)}; did you mean ${goQuote(meant)}?`)];
      }
    }
    return [];
  } catch (error) {
    if (!(error instanceof SelectorSyntaxError)) throw error;
    return [wrong(error.message)];
  }
}

/** In manifests the annotation names the cluster of an object. In the API the path does, and both must agree. */
function validateInClusterAnnotation(kind: Kind, { annotations }: ObjectMeta, cluster: string): FieldError[] {
  const named = annotations?.[IN_CLUSTER_ANNOTATION];
  if (!kind.inCluster || named === undefined || named === cluster) return [];
  const why = `must be the cluster of the request, ${goQuote(cluster)}`;
  return [invalidValue(`metadata.annotations[${IN_CLUSTER_ANNOTATION}]`, named, why)];
}

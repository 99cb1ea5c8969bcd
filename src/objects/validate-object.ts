import { isDeepStrictEqual } from 'node:util';
import { goQuote } from '../api/codec/go-text/go-quote.ts';
import { IN_CLUSTER_ANNOTATION } from '../api/domain-keys.ts';
import type { ApiObject, Kind, ObjectMeta, OwnerReference, UnchangedParts } from '../api/kind.ts';
import {
  isDns1123Label,
  isDns1123Subdomain,
  isPathSegmentName,
  isQualifiedName,
  validateAnnotations,
  validateLabels,
} from '../api/names.ts';
import { validateDomainKeys } from '../api/reserved-keys.ts';
import {
  checkEach,
  type FieldError,
  forbiddenField,
  invalidValue,
  invalidValues,
  MAX_FIELD_ERRORS,
  required,
} from '../api/status.ts';
import { hasControl } from '../lib/text.ts';

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
  const { name = '', namespace = '', labels, annotations } = metadata;
  const nameErrors = (): FieldError[] => {
    if (name === '') return [required('metadata.name', 'name or generateName is required')];
    return name === old?.name ? [] : invalidValues('metadata.name', name, nameProblems(kind, name));
  };
  const namespaceErrors = (): FieldError[] => {
    if (!kind.namespaced) return [];
    if (namespace === '') return [required('metadata.namespace')];
    return invalidValues('metadata.namespace', namespace, isDns1123Label(namespace));
  };
  return [
    ...nameErrors(),
    ...namespaceErrors(),
    ...(labels === undefined || unchanged.has('labels') ? [] : validateLabels(labels, 'metadata.labels')),
    ...(annotations === undefined || unchanged.has('annotations')
      ? []
      : validateAnnotations(annotations, 'metadata.annotations')),
  ];
}

/** Finalizers delay a deletion. Once it has begun, none may be added. */
function validateFinalizers({ finalizers = [] }: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  const errors = checkEach(finalizers, (finalizer, index) =>
    invalidValues(`metadata.finalizers[${index}]`, finalizer, isQualifiedName(finalizer)),
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
  const errors = checkEach(ownerReferences, (owner, index) => ownerErrors(at, index, owner));
  if (first === undefined || second === undefined) return errors;
  const found = `Found "true" in references for ${first.kind}/${first.name} and ${second.kind}/${second.name}`;
  const why = `Only one reference can have Controller set to true. ${found}`;
  return [...errors, invalidValue(at, ownerReferences, why)];
}

function ownerErrors(
  at: string,
  index: number,
  { apiVersion = '', kind = '', name = '', uid = '' }: OwnerReference,
): FieldError[] {
  const hasVersion = /^([^/]*\/)?[^/]+$/.test(apiVersion);
  const empty = Object.entries({ kind, name }).filter(([, value]) => value === '');
  return [
    ...(hasVersion ? [] : [invalidValue(`${at}.apiVersion`, apiVersion, 'version must not be empty')]),
    ...empty.map(([field, value]) => invalidValue(`${at}.${field}`, value, `${field} must not be empty`)),
    ...(uid === '' ? [required(`${at}[${index}].uid`, 'must not be empty')] : []),
  ];
}

/** In manifests the annotation names the cluster of an object. In the API the path does, and both must agree. */
function validateInClusterAnnotation(kind: Kind, { annotations }: ObjectMeta, cluster: string): FieldError[] {
  const named = annotations?.[IN_CLUSTER_ANNOTATION];
  if (!kind.inCluster || named === undefined || named === cluster) return [];
  const why = `must be the cluster of the request, ${goQuote(cluster)}`;
  return [invalidValue(`metadata.annotations[${IN_CLUSTER_ANNOTATION}]`, named, why)];
}

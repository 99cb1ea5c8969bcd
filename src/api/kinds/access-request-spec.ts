import { type FieldError, forbiddenField, invalidValue, required, tooLong } from '../field-error.ts';
import type { ApiObject, ObjectMeta } from '../kind.ts';
import { isDns1123Label, isDns1123Subdomain, isPathSegmentName, isValidLabelValue } from '../names.ts';
import { CLUSTER_GROUP, isClusters } from './cluster-spec.ts';
import type { PolicyRule } from './rbac.ts';

/** Spec and status of an access request. */

export const REQUEST_PHASES = ['Pending', 'Approved', 'Denied', 'Withdrawn', 'Expired'] as const;
type RequestPhase = (typeof REQUEST_PHASES)[number];

/** What people decide about a request: the types of conditions that the subresource `approval` takes. */
export const DECISIONS = ['Approved', 'Denied', 'Withdrawn'] as const;
export type RequestDecision = (typeof DECISIONS)[number];

export interface RequestUser {
  username: string;
  uid?: string;
  /** Further names of the same people: the impersonator, and the requesters of the pass that was used. */
  actors?: string[];
}

interface RequestedAttributes {
  verb?: string;
  group?: string;
  resource?: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

export interface AccessRequestSpec {
  cluster?: string;
  serviceAccount?: { namespace?: string; name?: string };
  resourceAttributes?: RequestedAttributes;
  reason?: string;
  durationSeconds?: number;
  requestedBy?: RequestUser;
}

export interface RequestCondition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface AccessRequestStatus {
  phase?: RequestPhase;
  conditions?: RequestCondition[];
  decidedBy?: RequestUser;
  decisionTimestamp?: string;
  withdrawnBy?: RequestUser;
  bindingRef?: { kind: string; namespace?: string; name: string };
  clusterUID?: string;
  expirationTimestamp?: string;
}

export const requestSpec = (object: ApiObject): AccessRequestSpec => (object.spec ?? {}) as AccessRequestSpec;
export const requestStatus = (object: ApiObject): AccessRequestStatus => (object.status ?? {}) as AccessRequestStatus;

/** An open request waits for a decision, or grants something. */
export const isOpenPhase = (phase: string): boolean => phase === 'Pending' || phase === 'Approved';

/** When a pending request or the granted access ends; undefined once the request is finished. */
export function requestExpiry(object: ApiObject): string | undefined {
  const { phase = 'Pending', expirationTimestamp } = requestStatus(object);
  return isOpenPhase(phase) ? expirationTimestamp : undefined;
}

/** The cluster and the namespace in which a request grants access; namespace `""` for the whole cluster. */
export interface RequestScope {
  readonly cluster: string;
  readonly namespace: string;
}

export const requestScope = ({
  cluster = '',
  serviceAccount,
  resourceAttributes,
}: AccessRequestSpec): RequestScope => ({
  cluster,
  namespace: serviceAccount?.namespace ?? resourceAttributes?.namespace ?? '',
});

/** The only rule that an approval grants. */
export function requestedRule({ cluster = '', serviceAccount, resourceAttributes }: AccessRequestSpec): PolicyRule {
  if (serviceAccount !== undefined) {
    const resourceNames = [serviceAccount.name ?? ''];
    return { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames, verbs: ['create'] };
  }
  if (resourceAttributes === undefined) {
    const verbs = ['get', 'list', 'watch'];
    return { apiGroups: [CLUSTER_GROUP], resources: ['clusters'], resourceNames: [cluster], verbs };
  }
  const { verb = '', group = '', resource = '', subresource = '', name = '' } = resourceAttributes;
  return {
    apiGroups: [group],
    resources: [subresource === '' ? resource : `${resource}/${subresource}`],
    ...(name === '' ? {} : { resourceNames: [name] }),
    verbs: [verb],
  };
}

/** For people, as in `passes of ci/builder`. */
export function accessText({ serviceAccount, resourceAttributes }: AccessRequestSpec): string {
  if (serviceAccount !== undefined) return `passes of ${serviceAccount.namespace}/${serviceAccount.name}`;
  if (resourceAttributes === undefined) return 'see the cluster';
  const { verb, resource, subresource = '', namespace = '', name = '' } = resourceAttributes;
  const what = `${resource}${subresource === '' ? '' : `/${subresource}`}${name === '' ? '' : ` ${name}`}`;
  return `${verb} ${what}${namespace === '' ? '' : ` in ${namespace}`}`;
}

/**
 * Format characters reverse a text, or hide a part that a program still reads. Approvers must read what is there. The
 * joiners belong to scripts and emojis.
 */
export const hasInvisible = (text: string): boolean => /(?![\u200c\u200d])\p{Cf}/u.test(text);
export const INVISIBLE_TEXT = 'may not contain invisible characters or such that change the direction of text';

const MAX_REASON = 1_024;
const MIN_DURATION_SECONDS = 60;
/** Of labels and annotations together. Every authenticated caller may be allowed to create requests. */
const MAX_PAIRS_BYTES = 4_096;

/** What is wrong with a new request. Its bound for the duration is an option, and is checked by the handler. */
export function requestErrors(object: ApiObject): FieldError[] {
  const spec = requestSpec(object);
  const { reason = '', durationSeconds } = spec;
  const errors = [
    ...metadataErrors(object.metadata, 'an access request'),
    ...clusterErrors(spec.cluster ?? ''),
    ...accessErrors(spec),
  ];
  if (reason.trim() === '') errors.push(required('spec.reason', 'say why the access is needed: approvers read it'));
  else if (Buffer.byteLength(reason) > MAX_REASON) errors.push(tooLong('spec.reason', MAX_REASON));
  else if (hasInvisible(reason)) errors.push(invalidValue('spec.reason', reason, INVISIBLE_TEXT));
  else if (/(?!\n)\p{Cc}/u.test(reason)) {
    errors.push(invalidValue('spec.reason', reason, 'may not contain control characters'));
  }
  if (durationSeconds !== undefined && durationSeconds < MIN_DURATION_SECONDS) {
    const why = `must be at least ${MIN_DURATION_SECONDS} seconds`;
    errors.push(invalidValue('spec.durationSeconds', durationSeconds, why));
  }
  return errors;
}

/** The owner decides about the metadata, and must not keep the server from removing a finished request. */
export function metadataErrors(
  { labels = {}, annotations = {}, finalizers = [], ownerReferences = [] }: ObjectMeta,
  what: string,
): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of [...Object.entries(labels), ...Object.entries(annotations)]) {
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > MAX_PAIRS_BYTES) errors.push(tooLong('metadata.annotations', MAX_PAIRS_BYTES));
  if (finalizers.length > 0) errors.push(forbiddenField('metadata.finalizers', `${what} has none`));
  if (ownerReferences.length > 0) errors.push(forbiddenField('metadata.ownerReferences', `${what} has none`));
  return errors;
}

/** The binding selects the cluster by its name, as the value of a label. */
export function clusterErrors(cluster: string): FieldError[] {
  if (cluster === '') return [required('spec.cluster', 'the name of the cluster')];
  const problems = isDns1123Subdomain(cluster);
  return (problems.length > 0 ? problems : isValidLabelValue(cluster)).map((problem) =>
    invalidValue('spec.cluster', cluster, problem),
  );
}

function accessErrors({ cluster, serviceAccount, resourceAttributes }: AccessRequestSpec): FieldError[] {
  if (serviceAccount !== undefined && resourceAttributes !== undefined) {
    return [forbiddenField('spec.resourceAttributes', 'may not be set together with spec.serviceAccount')];
  }
  if (serviceAccount !== undefined) return accountErrors(serviceAccount);
  return resourceAttributes === undefined ? [] : attributeErrors(resourceAttributes, cluster);
}

export const accountErrors = ({ namespace = '', name = '' }: { namespace?: string; name?: string }): FieldError[] => [
  ...named('spec.serviceAccount.namespace', namespace, isDns1123Label),
  ...named('spec.serviceAccount.name', name, isDns1123Subdomain),
];

function attributeErrors(attributes: RequestedAttributes, cluster: string | undefined): FieldError[] {
  const at = 'spec.resourceAttributes';
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = attributes;
  const words = { verb, group, resource, subresource };
  const errors = [
    ...named(`${at}.verb`, verb, () => []),
    ...named(`${at}.resource`, resource, () => []),
    ...(namespace === '' ? [] : named(`${at}.namespace`, namespace, isDns1123Label)),
    ...(name === '' ? [] : named(`${at}.name`, name, isPathSegmentName)),
  ];
  for (const [field, word] of Object.entries(words)) {
    if (/[*/\s\p{Cc}]/u.test(word)) {
      errors.push(invalidValue(`${at}.${field}`, word, "may not contain '*', '/' or spaces: name what you need"));
    }
  }
  if (isClusters({ group, resource }) && name !== '' && name !== cluster) {
    errors.push(invalidValue(`${at}.name`, name, 'must be the cluster of the request'));
  }
  return errors;
}

const named = (field: string, value: string, rule: (value: string) => string[]): FieldError[] =>
  value === '' ? [required(field)] : rule(value).map((problem) => invalidValue(field, value, problem));

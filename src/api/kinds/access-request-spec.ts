import { type FieldError, forbiddenField, invalidValue, required, tooLong } from '../field-error.ts';
import type { ApiObject } from '../kind.ts';
import { isDns1123Label, isPathSegmentName } from '../names.ts';
import {
  type ApprovalSpec,
  type ApprovalStatus,
  accountErrors,
  approvalErrors,
  hasInvisible,
  INVISIBLE_TEXT,
  nameErrors,
  type RequestScope,
  type RequestUser,
} from './approval.ts';
import { CLUSTER_GROUP, isClusters } from './cluster-spec.ts';
import type { PolicyRule } from './rbac.ts';

/** Spec and status of an access request. */

export const REQUEST_PHASES = ['Pending', 'Approved', 'Denied', 'Withdrawn', 'Expired'] as const;

/** What people decide about a request: the types of conditions that the subresource `approval` takes. */
export const DECISIONS = ['Approved', 'Denied', 'Withdrawn'] as const;

interface RequestedAttributes {
  verb?: string;
  group?: string;
  resource?: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

export interface AccessRequestSpec extends ApprovalSpec {
  resourceAttributes?: RequestedAttributes;
  reason?: string;
}

interface AccessRequestStatus extends ApprovalStatus<(typeof REQUEST_PHASES)[number]> {
  withdrawnBy?: RequestUser;
}

export const requestSpec = (object: ApiObject): AccessRequestSpec => (object.spec ?? {}) as AccessRequestSpec;
export const requestStatus = (object: ApiObject): AccessRequestStatus => (object.status ?? {}) as AccessRequestStatus;

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

const MAX_REASON = 1_024;
const MIN_DURATION_SECONDS = 60;

/** What is wrong with a new request. Its bound for the duration is an option, and is checked by the handler. */
export function requestErrors(object: ApiObject): FieldError[] {
  const spec = requestSpec(object);
  const { reason = '' } = spec;
  const errors = [...approvalErrors(object, 'an access request', MIN_DURATION_SECONDS), ...accessErrors(spec)];
  if (reason.trim() === '') errors.push(required('spec.reason', 'say why the access is needed: approvers read it'));
  else if (Buffer.byteLength(reason) > MAX_REASON) errors.push(tooLong('spec.reason', MAX_REASON));
  else if (hasInvisible(reason)) errors.push(invalidValue('spec.reason', reason, INVISIBLE_TEXT));
  else if (/(?!\n)\p{Cc}/u.test(reason)) {
    errors.push(invalidValue('spec.reason', reason, 'may not contain control characters'));
  }
  return errors;
}

function accessErrors({ cluster, serviceAccount, resourceAttributes }: AccessRequestSpec): FieldError[] {
  if (serviceAccount !== undefined && resourceAttributes !== undefined) {
    return [forbiddenField('spec.resourceAttributes', 'may not be set together with spec.serviceAccount')];
  }
  if (serviceAccount !== undefined) return accountErrors(serviceAccount);
  return resourceAttributes === undefined ? [] : attributeErrors(resourceAttributes, cluster);
}

function attributeErrors(attributes: RequestedAttributes, cluster: string | undefined): FieldError[] {
  const at = 'spec.resourceAttributes';
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = attributes;
  const words = { verb, group, resource, subresource };
  const errors = [
    ...nameErrors(`${at}.verb`, verb, () => []),
    ...nameErrors(`${at}.resource`, resource, () => []),
    ...(namespace === '' ? [] : nameErrors(`${at}.namespace`, namespace, isDns1123Label)),
    ...(name === '' ? [] : nameErrors(`${at}.name`, name, isPathSegmentName)),
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

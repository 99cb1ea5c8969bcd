import type { ApiObject } from '../kind.ts';
import { isDns1123Label, isPathSegmentName } from '../names.ts';
import { type FieldError, forbiddenField, invalidValue, required, tooLong } from '../status.ts';
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
import type { ResourceAttributes } from './reviews.ts';

export const REQUEST_PHASES = ['Pending', 'Approved', 'Denied', 'Withdrawn', 'Expired'] as const;

/** What people decide about a request: the types of conditions that the subresource `approval` takes. */
export const DECISIONS = ['Approved', 'Denied', 'Withdrawn'] as const;

type RequestedAttributes = Omit<ResourceAttributes, 'version' | 'fieldSelector' | 'labelSelector'>;

export interface AccessRequestSpec extends ApprovalSpec {
  userpass?: boolean;
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

/** A permission that a request is for. Each is bound in its own scope. */
export interface RequestedAccess {
  /** `""`: the whole cluster. */
  readonly namespace: string;
  /** For people, as in `passes of ci/builder`. */
  readonly text: string;
  readonly rule: PolicyRule;
}

/** All that an approval grants. Passes of a cluster are of use to those who see it. */
export function requestedAccess(spec: AccessRequestSpec): readonly RequestedAccess[] {
  const { cluster = '', serviceAccount, userpass, resourceAttributes } = spec;
  if (resourceAttributes !== undefined) return [accessTo(resourceAttributes)];
  const clusters = { apiGroups: [CLUSTER_GROUP], resourceNames: [cluster] };
  const seeing = { ...clusters, resources: ['clusters'], verbs: ['get', 'list', 'watch'] };
  const see: RequestedAccess = { namespace: '', text: 'see the cluster', rule: seeing };
  if (userpass === true) {
    const rule = { ...clusters, resources: ['clusters/userpass'], verbs: ['create'] };
    return [see, { namespace: '', text: 'passes for the requester', rule }];
  }
  if (serviceAccount === undefined) return [see];
  const { namespace = '', name = '' } = serviceAccount;
  const rule = { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [name], verbs: ['create'] };
  return [see, { namespace, text: `passes of ${namespace}/${name}`, rule }];
}

function accessTo(attributes: RequestedAttributes): RequestedAccess {
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = attributes;
  const resources = [subresource === '' ? resource : `${resource}/${subresource}`];
  const resourceNames = name === '' ? {} : { resourceNames: [name] };
  const text = [verb, ...resources, name, namespace && `in ${namespace}`].filter((word) => word !== '').join(' ');
  return { namespace, text, rule: { apiGroups: [group], resources, ...resourceNames, verbs: [verb] } };
}

/** For people, as in `see the cluster, passes of ci/builder`. */
export const accessText = (spec: AccessRequestSpec): string =>
  requestedAccess(spec)
    .map(({ text }) => text)
    .join(', ');

/** The command with which the requester uses what was granted; undefined where it knows it best. */
export function nextCommand({ cluster, serviceAccount, userpass, resourceAttributes }: AccessRequestSpec) {
  if (resourceAttributes !== undefined) return undefined;
  const { namespace, name } = serviceAccount ?? {};
  const subject = userpass === true ? '--as-me' : name && `--as ${namespace}/${name}`;
  return subject ? `clusterpass kubeconfig --cluster ${cluster} ${subject}` : `clusterpass describe cluster ${cluster}`;
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

function accessErrors({ cluster, serviceAccount, userpass, resourceAttributes }: AccessRequestSpec): FieldError[] {
  const set = Object.entries({ serviceAccount, userpass, resourceAttributes }).filter(([, value]) => value);
  const [first, second] = set.map(([field]) => `spec.${field}`);
  if (second !== undefined) return [forbiddenField(second, `may not be set together with ${first}`)];
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

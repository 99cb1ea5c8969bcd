import {
  ASKED_AT_ANOTHER_CLUSTER,
  clusterAskedAbout,
  isAskedAtAnotherCluster,
  isFilteredList,
  permissionAskedFor,
  type ResourceQuestion,
} from '../../api/authorization.ts';
import type { Identity, User } from '../../api/caller.ts';
import { type Decision, whyAllowed } from '../../api/decision.ts';
import type { ObjectMeta } from '../../api/kind.ts';
import {
  MAX_SELECTOR_LENGTH,
  type NonResourceAttributes,
  type ResourceAttributes,
  type SelectorAttributes,
  type SelfSubjectAccessReview,
  type SubjectAccessReview,
  subjectAccessReviewType,
} from '../../api/kinds/reviews.ts';
import { type FieldError, invalid, invalidValue, required, tooLong } from '../../api/status.ts';
import type { Review, ReviewParts } from './review.ts';

/** Whether a request of the caller would be allowed. */
export const reviewSelfAccess: Review = (parts, { caller, target }, sent) => {
  const { metadata = {}, spec = {} } = sent as SelfSubjectAccessReview;
  refuse([...attributeErrors(spec), ...metadataErrors(metadata, 'must be empty')]);
  return { status: statusFor(parts, caller, target.cluster, spec) };
};

/** Whether a request of any user would be allowed. */
export const reviewSubject: Review = (parts, { target }, sent) => {
  const { metadata = {}, spec = {} } = sent as SubjectAccessReview;
  refuse([...subjectErrors(spec), ...metadataErrors(metadata, 'must be empty')]);
  return { status: statusFor(parts, sameUserEverywhere(spec), target.cluster, spec) };
};

/** Whether a request of any user for a resource would be allowed in the namespace of the path. */
export const reviewLocalSubject: Review = (parts, { target }, sent) => {
  const { metadata: { namespace: _, ...metadata } = {}, spec = {} } = sent as SubjectAccessReview;
  refuse([
    ...subjectErrors(spec),
    ...metadataErrors(metadata, 'must be empty except for namespace'),
    ...localErrors(spec, target.namespace),
  ]);
  const status = statusFor(parts, sameUserEverywhere(spec), target.cluster, spec);
  return { metadata: { namespace: target.namespace }, status };
};

/** kube-apiserver does not name the kind (SAR-06). */
function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: subjectAccessReviewType.group, kind: '' }, '', errors);
}

interface AccessStatus {
  readonly allowed: boolean;
  readonly reason?: string;
}

type Asked = NonNullable<SelfSubjectAccessReview['spec']>;

/**
 * Below the path of a cluster the question is about that cluster; at the fleet it is about no cluster, unless it names
 * a Cluster object.
 */
function statusFor(
  parts: ReviewParts,
  identity: Identity,
  pathCluster: string | undefined,
  { resourceAttributes, nonResourceAttributes = {} }: Asked,
): AccessStatus {
  return resourceAttributes === undefined
    ? pathStatus(parts, identity, nonResourceAttributes)
    : resourceStatus(parts, identity, pathCluster, resourceAttributes);
}

/** The user as named, with the groups as named: the same under every path. */
function sameUserEverywhere({ user: name = '', groups = [], extra = {}, uid = '' }: SubjectSpec): Identity {
  const user: User = { name, uid, groups, extra };
  return { as: () => user };
}

function pathStatus({ authorizer }: ReviewParts, identity: Identity, asked: NonResourceAttributes): AccessStatus {
  const decision = authorizer.decidePath(identity, { verb: asked.verb ?? '', path: asked.path ?? '' });
  return statusOf(decision, identity.as(undefined));
}

function resourceStatus(
  { authorizer }: ReviewParts,
  identity: Identity,
  pathCluster: string | undefined,
  asked: ResourceAttributes,
): AccessStatus {
  const { group = '', resource = '', name = '' } = asked;
  if (isAskedAtAnotherCluster({ group, resource, name }, pathCluster)) {
    return { allowed: false, reason: ASKED_AT_ANOTHER_CLUSTER };
  }
  const question = questionIn(asked, pathCluster);
  const decision = authorizer.decide(identity, question);
  // The request itself would be allowed, and its result filtered.
  if (!decision.allowed && name === '' && isFilteredList(question)) {
    return { allowed: true, reason: `everyone may list ${resource}, and is shown those that they may see` };
  }
  return statusOf(decision, identity.as(question.cluster));
}

/** The question of a request with these attributes below the path of a cluster; at the fleet it is undefined. */
export function questionIn(asked: ResourceAttributes, pathCluster: string | undefined): ResourceQuestion {
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = asked;
  const cluster = clusterAskedAbout({ group, resource, name }, pathCluster);
  return permissionAskedFor({ verb, group, resource, subresource, namespace, name, cluster });
}

const statusOf = (decision: Decision, user: User): AccessStatus => {
  const reason = decision.allowed ? whyAllowed(decision, user) : decision.reason;
  return { allowed: decision.allowed, ...(reason === '' ? {} : { reason }) };
};

type SubjectSpec = NonNullable<SubjectAccessReview['spec']>;

function subjectErrors(spec: SubjectSpec): FieldError[] {
  const { user = '', groups = [] } = spec;
  const [combination, selectors] = [combinationErrors(spec), attributeSelectorErrors(spec)];
  if (user !== '' || groups.length > 0) return [...combination, ...selectors];
  return [
    ...combination,
    invalidValue('spec.user', user, 'at least one of user or group must be specified'),
    ...selectors,
  ];
}

function localErrors({ resourceAttributes, nonResourceAttributes }: SubjectSpec, namespace: string): FieldError[] {
  const asked = resourceAttributes?.namespace ?? '';
  const differs = resourceAttributes !== undefined && asked !== namespace;
  return [
    ...(differs ? [invalidValue('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace')] : []),
    ...(nonResourceAttributes === undefined
      ? []
      : [pathError(nonResourceAttributes, 'disallowed on this kind of request')]),
  ];
}

export const attributeErrors = (spec: Asked): FieldError[] => [
  ...combinationErrors(spec),
  ...attributeSelectorErrors(spec),
];

function combinationErrors({ resourceAttributes, nonResourceAttributes }: Asked): FieldError[] {
  if (resourceAttributes === undefined) {
    if (nonResourceAttributes !== undefined) return [];
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return [invalidValue('spec.resourceAttributes', null, why)];
  }
  if (nonResourceAttributes === undefined) return [];
  return [pathError(nonResourceAttributes, 'cannot be specified in combination with resourceAttributes')];
}

const attributeSelectorErrors = ({ resourceAttributes }: Asked): FieldError[] => [
  ...selectorErrors(resourceAttributes?.fieldSelector, 'spec.resourceAttributes.fieldSelector'),
  ...selectorErrors(resourceAttributes?.labelSelector, 'spec.resourceAttributes.labelSelector'),
];

/** kube-apiserver prints a struct whose fields have no JSON names (SAR-09). */
const pathError = ({ path = '', verb = '' }: NonResourceAttributes, why: string): FieldError =>
  invalidValue('spec.nonResourceAttributes', { Path: path, Verb: verb }, why);

function selectorErrors(selector: SelectorAttributes | undefined, at: string): FieldError[] {
  if (selector === undefined) return [];
  const { rawSelector = '', requirements = [] } = selector;
  if (rawSelector !== '' && requirements.length > 0) {
    return [invalidValue(`${at}.rawSelector`, rawSelector, 'may not specified at the same time as requirements')];
  }
  if (rawSelector === '' && requirements.length === 0) {
    return [required(`${at}.requirements`, `when ${at} is specified, requirements or rawSelector is required`)];
  }
  let length = 0;
  for (const { values = [] } of requirements) for (const value of values) length += value.length;
  return length > MAX_SELECTOR_LENGTH ? [tooLong(`${at}.requirements`, MAX_SELECTOR_LENGTH)] : [];
}

function metadataErrors({ managedFields: _, ...metadata }: ObjectMeta, why: string): FieldError[] {
  const set = Object.entries(metadata).filter(([, value]) => !isZero(value));
  return set.length === 0 ? [] : [invalidValue('metadata', Object.fromEntries(set), why)];
}

/** Go clients send unset fields as zero values: kubectl sends a generation of 0. */
const isZero = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length === 0 : !value;

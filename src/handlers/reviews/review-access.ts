import { clusterAskedAbout, type Decision, isFilteredList, type ResourceQuestion } from '../../api/authorization.ts';
import type { User } from '../../api/caller.ts';
import { whyAllowed } from '../../api/decision-reason.ts';
import { type FieldError, invalid, invalidValue, required, tooLong } from '../../api/field-error.ts';
import type { ObjectMeta } from '../../api/kind.ts';
import {
  MAX_SELECTOR_LENGTH,
  type NonResourceAttributes,
  type ResourceAttributes,
  type SelectorAttributes,
  type SelfSubjectAccessReview,
  selfSubjectAccessReviewType,
} from '../../api/kinds/reviews.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { Review, ReviewParts } from './review.ts';

/**
 * Whether a request would be allowed. Under the path of a cluster the question is about that cluster; at the fleet it
 * is about no cluster, unless it names a Cluster object.
 */
export const reviewAccess: Review = (parts, request, sent) => {
  const { metadata = {}, spec = {} } = sent as SelfSubjectAccessReview;
  const errors = [...specErrors(spec), ...metadataErrors(metadata)];
  if (errors.length > 0) throw invalid(selfSubjectAccessReviewType, '', errors);
  const { resourceAttributes, nonResourceAttributes } = spec;
  const status =
    resourceAttributes === undefined
      ? pathStatus(parts, request, nonResourceAttributes ?? {})
      : resourceStatus(parts, request, resourceAttributes);
  return { metadata: {}, spec, status };
};

interface AccessStatus {
  readonly allowed: boolean;
  readonly reason?: string;
}

function pathStatus({ authorizer }: ReviewParts, { caller }: ApiRequest, asked: NonResourceAttributes): AccessStatus {
  const decision = authorizer.decidePath(caller, { verb: asked.verb ?? '', path: asked.path ?? '' });
  return statusOf(decision, caller.as(undefined));
}

function resourceStatus(
  { authorizer }: ReviewParts,
  { caller, target }: ApiRequest,
  asked: ResourceAttributes,
): AccessStatus {
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = asked;
  const cluster = clusterAskedAbout({ group, resource, name }, target.cluster);
  const question: ResourceQuestion = { verb, group, resource, subresource, namespace, name, cluster };
  const decision = authorizer.decide(caller, question);
  // The request itself would be allowed, and its result filtered.
  if (!decision.allowed && name === '' && isFilteredList(question)) {
    return { allowed: true, reason: `everyone may list ${resource}, and is shown those that they may see` };
  }
  return statusOf(decision, caller.as(cluster));
}

const statusOf = (decision: Decision, user: User): AccessStatus => {
  const reason = decision.allowed ? whyAllowed(decision, user) : decision.reason;
  return { allowed: decision.allowed, ...(reason === '' ? {} : { reason }) };
};

function specErrors(spec: NonNullable<SelfSubjectAccessReview['spec']>): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (resourceAttributes === undefined) {
    if (nonResourceAttributes !== undefined) return [];
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return [invalidValue('spec.resourceAttributes', null, why)];
  }
  const both = 'cannot be specified in combination with resourceAttributes';
  return [
    ...(nonResourceAttributes === undefined
      ? []
      : [invalidValue('spec.nonResourceAttributes', nonResourceAttributes, both)]),
    ...selectorErrors(resourceAttributes.fieldSelector, 'spec.resourceAttributes.fieldSelector'),
    ...selectorErrors(resourceAttributes.labelSelector, 'spec.resourceAttributes.labelSelector'),
  ];
}

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

function metadataErrors({ managedFields: _, ...metadata }: ObjectMeta): FieldError[] {
  const set = Object.entries(metadata).filter(([, value]) => !isZero(value));
  return set.length === 0 ? [] : [invalidValue('metadata', Object.fromEntries(set), 'must be empty')];
}

/** Go clients send unset fields as zero values: kubectl sends a generation of 0. */
const isZero = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length === 0 : !value;

import { type ApiObject, apiVersionOf, type VirtualType } from '../../api/kind.ts';
import { auditEventReviewType } from '../../api/kinds/audit-event-review.ts';
import { clusterGrantReviewType } from '../../api/kinds/cluster-grant-review.ts';
import { resourceAccessReviewType, subjectReachReviewType } from '../../api/kinds/grant-reviews.ts';
import {
  localSubjectAccessReviewType,
  selfSubjectAccessReviewType,
  selfSubjectReviewType,
  selfSubjectRulesReviewType,
  subjectAccessReviewType,
} from '../../api/kinds/reviews.ts';
import { tokenReviewType } from '../../api/kinds/token-review.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import { PARTIAL_METADATA, partialMetadata } from '../representation.ts';
import { checkNamespace, readBody } from '../write/read-body.ts';
import type { Review, ReviewParts } from './review.ts';
import { reviewLocalSubject, reviewSelfAccess, reviewSubject } from './review-access.ts';
import { reviewAuditEvents } from './review-audit-events.ts';
import { reviewRules, reviewSelf } from './review-caller.ts';
import { reviewClusterGrants } from './review-cluster-grants.ts';
import { reviewReach } from './review-reach.ts';
import { reviewResource } from './review-resource.ts';
import { reviewToken } from './review-token.ts';

const REVIEWS: ReadonlyMap<VirtualType, Review> = new Map<VirtualType, Review>([
  [selfSubjectReviewType, reviewSelf],
  [selfSubjectAccessReviewType, reviewSelfAccess],
  [subjectAccessReviewType, reviewSubject],
  [localSubjectAccessReviewType, reviewLocalSubject],
  [selfSubjectRulesReviewType, reviewRules],
  [resourceAccessReviewType, reviewResource],
  [subjectReachReviewType, reviewReach],
  [clusterGrantReviewType, reviewClusterGrants],
  [auditEventReviewType, reviewAuditEvents],
  [tokenReviewType, reviewToken],
]);

export type CreateReview = (request: ApiRequest, type: VirtualType) => Promise<ApiResponse>;

/** Reviews of permissions are answered from the rules alone, so they do not reveal whether a cluster exists. */
export function createReviewHandler(parts: ReviewParts): CreateReview {
  return async (request, type) => {
    const answer = REVIEWS.get(type);
    if (answer === undefined) throw new Error(`no handler for ${type.kind}`);
    const { fieldValidation } = parseCreateOptions(request.query);
    const value = readBody(request, type, fieldValidation);
    checkNamespace(value, type, request.target.namespace);
    const asked = type.shape.byName.has('spec') ? { spec: value.spec ?? {} } : {};
    const answered = { metadata: {}, ...asked, ...(await answer(parts, request, value)) };
    const review: ApiObject = { kind: type.kind, apiVersion: apiVersionOf(type), ...answered };
    if (request.accept.as === 'object') return { type: 'value', code: 201, value: review, schema: type };
    return { type: 'value', code: 201, value: partialMetadata(review), schema: PARTIAL_METADATA };
  };
}

import type { Authorizer, RuleLister } from '../../api/authorization.ts';
import { decodeBody } from '../../api/codec/decode.ts';
import { encodeValue } from '../../api/codec/encode.ts';
import type { ApiRequest, ApiResponse } from '../../api/exchange.ts';
import { type ApiObject, apiVersionOf, type ObjectMeta, type VirtualType } from '../../api/kind.ts';
import {
  selfSubjectAccessReviewType,
  selfSubjectReviewType,
  selfSubjectRulesReviewType,
} from '../../api/kinds/reviews.ts';
import { parseCreateOptions } from '../options/create-options.ts';
import { partialMetadata } from '../representation.ts';
import { bodyOf } from '../write/body.ts';
import { reviewAccess } from './review-access.ts';
import { reviewRules } from './review-rules.ts';
import { reviewSelf } from './review-self.ts';

export interface ReviewParts {
  readonly authorizer: Authorizer & RuleLister;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Answers one type: from what was sent to what comes back, without the head that all have. */
export type Review = (
  parts: ReviewParts,
  request: ApiRequest,
  sent: ApiObject,
) => { readonly metadata: ObjectMeta; readonly [field: string]: unknown };

const REVIEWS: ReadonlyMap<VirtualType, Review> = new Map([
  [selfSubjectReviewType, reviewSelf],
  [selfSubjectAccessReviewType, reviewAccess],
  [selfSubjectRulesReviewType, reviewRules],
]);

export type CreateReview = (request: ApiRequest, type: VirtualType) => Promise<ApiResponse>;

/** Nothing is looked up for an answer but the rules themselves: it does not tell whether a cluster exists. */
export function createReviewHandler(parts: ReviewParts): CreateReview {
  return async (request, type) => {
    const answer = REVIEWS.get(type);
    if (answer === undefined) throw new Error(`nothing answers a ${type.kind}`);
    const { fieldValidation } = parseCreateOptions(request.query);
    const { value, violations } = decodeBody(bodyOf(request), type, fieldValidation);
    for (const violation of violations) request.warn(violation);
    const { metadata, ...fields } = answer(parts, request, value);
    const review: ApiObject = { kind: type.kind, apiVersion: apiVersionOf(type), metadata, ...fields };
    const json =
      request.accept.as === 'object'
        ? encodeValue(review, type.schema, type.style)
        : encodeValue(partialMetadata(review), undefined, type.style);
    return { type: 'bytes', code: 201, json: Buffer.from(json) };
  };
}

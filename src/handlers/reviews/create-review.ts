import type { Authorizer, RuleLister } from '../../api/authorization.ts';
import type { Catalog } from '../../api/catalog.ts';
import { decodeBody } from '../../api/codec/decode.ts';
import { encodeValue } from '../../api/codec/encode.ts';
import { type ApiObject, apiVersionOf, type ObjectMeta, type VirtualType } from '../../api/kind.ts';
import {
  selfSubjectAccessReviewType,
  selfSubjectReviewType,
  selfSubjectRulesReviewType,
} from '../../api/kinds/reviews.ts';
import { tokenReviewType } from '../../api/kinds/token-review.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { parseCreateOptions } from '../options/create-options.ts';
import { partialMetadata } from '../representation.ts';
import { bodyOf } from '../write/read-body.ts';
import { reviewAccess } from './review-access.ts';
import { reviewRules } from './review-rules.ts';
import { reviewSelf } from './review-self.ts';
import { type ReviewToken, reviewToken } from './review-token.ts';

export interface ReviewParts {
  readonly authorizer: Authorizer & RuleLister;
  readonly catalog: Pick<Catalog, 'clusters'>;
  readonly reader: Pick<ObjectReader, 'catchUp' | 'find'>;
  readonly reviewToken: ReviewToken;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Everything but the head that all have. */
interface Reviewed {
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** Answers one type: from what was sent to what comes back. */
export type Review = (parts: ReviewParts, request: ApiRequest, sent: ApiObject) => Reviewed | Promise<Reviewed>;

const REVIEWS: ReadonlyMap<VirtualType, Review> = new Map<VirtualType, Review>([
  [selfSubjectReviewType, reviewSelf],
  [selfSubjectAccessReviewType, reviewAccess],
  [selfSubjectRulesReviewType, reviewRules],
  [tokenReviewType, reviewToken],
]);

export type CreateReview = (request: ApiRequest, type: VirtualType) => Promise<ApiResponse>;

/** What callers ask about themselves is answered from the rules alone: it does not tell whether a cluster exists. */
export function createReviewHandler(parts: ReviewParts): CreateReview {
  return async (request, type) => {
    const answer = REVIEWS.get(type);
    if (answer === undefined) throw new Error(`nothing answers a ${type.kind}`);
    const { fieldValidation } = parseCreateOptions(request.query);
    const { value, violations } = decodeBody(bodyOf(request), type, fieldValidation);
    for (const violation of violations) request.warn(violation);
    const { metadata, ...fields } = await answer(parts, request, value);
    const review: ApiObject = { kind: type.kind, apiVersion: apiVersionOf(type), metadata, ...fields };
    const json =
      request.accept.as === 'object'
        ? encodeValue(review, type.shape, type.style)
        : encodeValue(partialMetadata(review), undefined, type.style);
    return { type: 'json', code: 201, json };
  };
}

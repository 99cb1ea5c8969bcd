import { Type } from 'typebox';
import type { User } from '../caller.ts';
import { type BodyOf, flag, part, text, texts } from './meta.ts';
import { review, UserInfoSchema } from './reviews.ts';

/** A request can carry no longer token in its headers, and the response repeats it. */
const MAX_TOKEN_LENGTH = 65_536;

/**
 * The name of a review, below a cluster, that accepts passes of the cluster only. An API server uses it as its webhook:
 * the plain review also knows people, whose tokens must not open a cluster. With `resourceNames`, a role allows nothing
 * else.
 */
export const PASSES = 'passes';

/** Sent by services that receive tokens: whose token is this, and is it valid? */
export const tokenReviewType = review('authentication.k8s.io', 'TokenReview', {
  spec: part('TokenReviewSpec', 'What is reviewed.', {
    token: text('The token that was received. Required.', { maxLength: MAX_TOKEN_LENGTH }),
    audiences: texts('The audiences of the reviewer: the token must be for one of them. Empty means the API itself.'),
  }),
  status: part('TokenReviewStatus', 'The result. Ignored in a request.', {
    authenticated: flag('Whether the token is valid now, for one of these audiences.'),
    user: Type.Optional(UserInfoSchema),
    audiences: texts('The requested audiences that the token is for.'),
    error: text('Why the token is not accepted.'),
  }),
});

export type TokenReview = BodyOf<typeof tokenReviewType>;

/** What a review asks about a token. */
export interface TokenQuestion {
  /** Only tokens of this cluster, and users by their names in it; undefined at the fleet. */
  readonly cluster: string | undefined;
  /** None means the API itself. */
  readonly audiences: readonly string[];
  /** Only passes of the cluster, and no token of a person. */
  readonly passesOnly?: boolean;
}

/** The result of a review. */
export type TokenFindings =
  | { readonly authenticated: true; readonly user: User; readonly audiences: readonly string[] }
  | { readonly authenticated: false; readonly error: string };

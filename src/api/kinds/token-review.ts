import { Type } from 'typebox';
import type { User } from '../caller.ts';
import type { ObjectMeta } from '../kind.ts';
import { flag, text, texts } from './meta.ts';
import { review, UserInfoSchema } from './reviews.ts';

/** Whose token is this, and is it good? Asked by those who receive tokens, about the tokens of others. */
export const tokenReviewType = review('authentication.k8s.io', 'TokenReview', {
  spec: Type.Optional(
    Type.Object(
      {
        token: text('The token that was received. Required.'),
        audiences: texts('Who the asker is: the token must be meant for one of these. None means the API itself.'),
      },
      { goType: 'TokenReviewSpec', description: 'What is asked.' },
    ),
  ),
  status: Type.Optional(
    Type.Object(
      {
        authenticated: flag('Whether the token is good, now and for one of these audiences.'),
        user: Type.Optional(UserInfoSchema),
        audiences: texts('Those of the audiences asked about that the token is meant for.'),
        error: text('Why the token is not accepted.'),
      },
      { goType: 'TokenReviewStatus', description: 'What was found. Whatever is sent here is not looked at.' },
    ),
  ),
});

/** The part that callers send. */
export interface TokenReview {
  metadata?: ObjectMeta;
  spec?: { token?: string; audiences?: string[] };
}

/** What is known of a token that somebody received. */
export type TokenFindings =
  | { readonly authenticated: true; readonly user: User; readonly audiences: readonly string[] }
  | { readonly authenticated: false; readonly error: string };

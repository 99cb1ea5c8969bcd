import { tokenReviewType } from '../../api/kinds/token-review.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Issuers } from '../../tokens/claims.ts';
import { unverifiedClaims } from '../../tokens/jws.ts';
import { requestFor } from '../request/request-info.ts';
import { jsonOf } from '../response/respond.ts';
import type { FormRoute } from './form.ts';
import { forCaller, jsonAnswer, OAuthError, type Render } from './oauth-error.ts';

/** RFC 7662: the form becomes a TokenReview, by the caller of the `Authorization` header. */
export function introspection(issuers: () => Issuers): FormRoute {
  return {
    checkAuthorization: caller.checkAuthorization,
    read(form, { cluster }) {
      const token = form.required('token');
      const claims = unverifiedClaims(token) ?? {};
      const isOurs = isIssuedHere(claims, issuers());
      return {
        info: requestFor(tokenReviewType, 'create', { cluster }),
        query: new URLSearchParams(),
        // A resource server compares `aud` with its name (section 2.2), so a token is reviewed for all its audiences.
        body: { value: { spec: { token, audiences: isOurs ? textsOf(claims.aud) : [] } } },
        annotations: new Map([['clusterpass.dev/endpoint', 'oauth-introspection']]),
        render: renderWith(claims),
      };
    },
    render: renderWith({}),
  };
}

const FORBIDDEN = 'introspection needs the permission to create tokenreviews';
const CHALLENGE = 'Bearer error="insufficient_scope"';
const caller = forCaller(
  'invalid_token',
  () => new OAuthError('insufficient_scope', FORBIDDEN, { code: 403, challenge: CHALLENGE }),
);

interface ReviewAnswer {
  readonly status?: { readonly authenticated?: boolean; readonly user?: { readonly username?: string } };
}

const INACTIVE = { active: false };

/** RFC 7662 section 2.2: of a token that is not good, nothing else is said. The claims count once the review holds. */
function renderWith(claims: JsonObject): Render {
  return (answer) => {
    if (answer.type === 'status') {
      const { code } = answer.error.status;
      // A cluster that does not exist has no tokens; audiences beyond the bounds of a review are in none.
      if (code === 404 || code === 422) return jsonAnswer(INACTIVE);
      return caller.errorAnswer(answer.error);
    }
    const { status } = jsonOf(answer) as ReviewAnswer;
    if (status?.authenticated !== true) return jsonAnswer(INACTIVE);
    return jsonAnswer({
      active: true,
      ...pick(claims, TEXTS, (value) => typeof value === 'string'),
      ...pick(claims, NUMBERS, (value) => typeof value === 'number'),
      ...(claims.aud === undefined ? {} : { aud: textsOf(claims.aud) }),
      ...(typeof claims.act === 'object' && claims.act !== null ? { act: claims.act } : {}),
      token_type: 'Bearer',
      username: status.user?.username,
    });
  };
}

const TEXTS = ['sub', 'iss', 'jti'] as const;
const NUMBERS = ['exp', 'iat', 'nbf'] as const;

const pick = (claims: JsonObject, names: readonly string[], isRight: (value: unknown) => boolean): object =>
  Object.fromEntries(names.filter((name) => isRight(claims[name])).map((name) => [name, claims[name]]));

/** Texts of a claim that may be one text or a list (`aud`). */
function textsOf(claim: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  return list.filter((entry) => typeof entry === 'string');
}

/** Whether the token claims to be of this server, for an account or for a person. */
export const isIssuedHere = ({ iss }: JsonObject, { clusterOfIssuer, clusterOfPeopleIssuer }: Issuers): boolean =>
  typeof iss === 'string' && (clusterOfIssuer(iss) ?? clusterOfPeopleIssuer(iss)) !== undefined;

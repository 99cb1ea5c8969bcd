import { issuedTokenKind } from '../../api/kinds/issued-token.ts';
import { isTokenId } from '../../api/names.ts';
import { expiryOf, type Issuers } from '../../tokens/claims.ts';
import { unverifiedClaims } from '../../tokens/jws.ts';
import { requestFor } from '../request/request-info.ts';
import { dryRunOf, type FormRoute } from './form.ts';
import { isIssuedHere } from './introspection.ts';
import { emptyAnswer, forCaller, OAuthError, type Render } from './oauth-error.ts';

/** RFC 7009: the form becomes the deletion of an issued token, by the caller of the `Authorization` header. */
export function revocation(issuers: () => Issuers, now: () => number): FormRoute {
  return {
    checkAuthorization: caller.checkAuthorization,
    read(form, url) {
      const claims = unverifiedClaims(form.required('token')) ?? {};
      const { jti, exp } = claims;
      if (!isIssuedHere(claims, issuers()) || typeof jti !== 'string' || !isTokenId(jti)) {
        // Not 200: the caller would believe that the token is no longer accepted.
        throw new OAuthError('unsupported_token_type', 'only passes that were issued here can be revoked here');
      }
      // Not verified: a caller who changes `exp` learns nothing, and revokes nothing.
      const hasEnded = typeof exp === 'number' && expiryOf({ exp }) < now();
      return {
        info: requestFor(issuedTokenKind, 'delete', { name: jti }),
        query: dryRunOf(url),
        body: undefined,
        annotations: new Map([['clusterpass.dev/endpoint', 'oauth-revocation']]),
        render: renderWith(hasEnded),
      };
    },
    render: renderWith(false),
  };
}

const FORBIDDEN = 'you may revoke the tracked passes that you requested';
const caller = forCaller('invalid_client', () => new OAuthError('unauthorized_client', FORBIDDEN, { code: 403 }));

/** RFC 7009 section 2.2: a token that is unknown or has ended is not accepted any more, which is what was asked for. */
function renderWith(hasEnded: boolean): Render {
  return (answer) => {
    if (answer.type !== 'status') return emptyAnswer();
    const { code } = answer.error.status;
    if (code === 404 || (code === 403 && hasEnded)) return emptyAnswer();
    return caller.errorAnswer(answer.error);
  };
}

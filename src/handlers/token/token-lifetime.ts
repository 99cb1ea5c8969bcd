import { exactDuration } from '../../api/codec/go-text/human-duration.ts';
import { invalidValue } from '../../api/field-error.ts';
import { TOKEN_ANNOTATIONS } from '../../api/kinds/token-request.ts';
import { forbidden, unauthorized } from '../../api/status.ts';
import {
  grantLifetime,
  type Lifetime,
  type LifetimeQuestion,
  lifetimeWarning,
  tooShort,
} from '../../tokens/grant-lifetime.ts';
import { annotationField, type ParsedTokenRequest, type TokenRequestAnnotations } from './parse-token-request.ts';
import type { TokenGrant } from './token-input.ts';
import { requireValidRequest } from './validate-token-request.ts';

/** The lifetime of the token, by `grantLifetime`. Throws when there is none. */
export function requireLifetime(
  { request: { target }, annotations, expirationSeconds: requested }: ParsedTokenRequest,
  { permission: { passBounds }, pass }: TokenGrant,
  question: Pick<LifetimeQuestion, 'now' | 'serverSeconds' | 'sortSeconds' | 'credentialEndsAt' | 'byCluster'>,
): Lifetime {
  const lifetime = grantLifetime({
    requested,
    ...question,
    passEndsAt: pass?.endsAt,
    permissionEndsAt: passBounds?.expiresAt,
    maxPassSeconds: passBounds?.maxPassSeconds,
  });
  // A credential that has ended is no credential.
  if (lifetime.isTooShort && lifetime.bound === 'credentialEndsAt') throw unauthorized();
  if (lifetime.isTooShort) throw forbidden(target, target.name, tooShort(lifetime));
  checkMinExpiration(annotations, { requested, granted: lifetime.seconds });
  return lifetime;
}

/** A token that would expire before `minExpirationSeconds` is an error, where Kubernetes would issue it. */
export function checkMinExpiration(
  { minExpirationSeconds: minimum }: TokenRequestAnnotations,
  { requested, granted }: { readonly requested: number; readonly granted: number },
): void {
  if (minimum === undefined || granted >= minimum) return;
  const why =
    granted < requested
      ? `the longest lifetime that is granted here is ${exactDuration(granted)}`
      : `must not be more than spec.expirationSeconds, which is ${exactDuration(requested)}`;
  requireValidRequest([invalidValue(annotationField(TOKEN_ANNOTATIONS.minExpirationSeconds), minimum, why)]);
}

/** T-27: a token never expires earlier than requested without a warning. The default was not requested. */
export function warnOfEarlierExpiry(
  { request, sent }: Pick<ParsedTokenRequest, 'request' | 'sent'>,
  granted: Lifetime,
): void {
  const requested = sent.spec?.expirationSeconds ?? 0;
  if (granted.seconds < requested) request.warn(lifetimeWarning(requested, granted));
}

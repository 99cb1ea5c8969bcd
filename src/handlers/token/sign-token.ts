import { credentialIdOf, ISSUED_CREDENTIAL_ID } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { exactDuration } from '../../api/codec/go-text/human-duration.ts';
import { fleetKey } from '../../api/kind.ts';
import type { IssuedTokenSpec } from '../../api/kinds/issued-token.ts';
import { type GrantedTokenRequest, TOKEN_ANNOTATIONS } from '../../api/kinds/token-request.ts';
import { ApiError, forbidden, invalidValue, unauthorized } from '../../api/status.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import {
  grantLifetime,
  type Lifetime,
  type LifetimeBounds,
  type LifetimeQuestion,
  lifetimeWarning,
  tooShort,
} from '../../tokens/grant-lifetime.ts';
import type { TrackedTokens } from '../../tokens/revocations/tracked-tokens.ts';
import type { SignedClaims, Signer } from '../../tokens/signer.ts';
import {
  annotationField,
  type ParsedTokenRequest,
  requireValidRequest,
  type TokenRequestAnnotations,
} from './parse-token-request.ts';
import { CREATED, grantedTokenRequest, type TokenGrant, type TokenHolder } from './token-input.ts';

export interface SignTokenParts {
  readonly catalog: Pick<Catalog, 'fleetRoleBindings'>;
  readonly reader: Pick<ObjectReader, 'find'>;
  readonly signer: Signer;
  readonly tracked: TrackedTokens;
  /** Records every token. Default: those whose request asks for it. */
  readonly trackAll?: boolean;
  readonly maxExpirationSeconds: number;
  /** Throws while the clock is known to be wrong: a token, or an order for one, would carry wrong times. */
  readonly requireRightClock: () => void;
  readonly now: () => number;
  readonly randomUUID: () => string;
}

/** For whom a token is, once all of its checks but those of its time have passed. */
interface TokenSubject {
  readonly cluster: string;
  readonly holder: TokenHolder;
  /** It is also the audience that opens the API of the cluster. */
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** What bounds the lifetime beside the grant. */
  readonly bounds: Pick<LifetimeBounds, 'sortSeconds' | 'credentialEndsAt'>;
  readonly claimsOf: (granted: {
    readonly now: number;
    readonly expirationSeconds: number;
    readonly randomUUID: () => string;
  }) => SignedClaims;
}

/** The last steps of every token that is signed here. Without a record (`tracked`) none waits for the store. */
export async function signToken(
  parts: SignTokenParts,
  tokenRequest: ParsedTokenRequest,
  grant: TokenGrant,
  { cluster, holder, issuer, audiences, bounds, claimsOf }: TokenSubject,
): Promise<GrantedTokenRequest> {
  const { request, sent, dryRun, annotations } = tokenRequest;
  const { warn, willAnswer } = request;
  const { pass } = grant;
  checkSignature(parts, audiences, warn);
  const serverSeconds = parts.maxExpirationSeconds;
  const lifetime = requireLifetime(tokenRequest, grant, { now: parts.now(), serverSeconds, ...bounds });
  parts.requireRightClock();
  const now = parts.now();
  const claims = claimsOf({ now, expirationSeconds: lifetime.seconds, randomUUID: parts.randomUUID });
  // A pass lasts as long as it says: the request is for at least ten minutes.
  if (lifetime.bound !== 'passEndsAt') warnOfEarlierExpiry(tokenRequest, lifetime);
  if (annotations.forCluster && !claims.aud.includes(issuer)) warn(audienceWarning(cluster, issuer));
  const granted = (token: string): GrantedTokenRequest => grantedTokenRequest(sent, { holder, claims, token, now });
  const isTracked = annotations.tracked || pass !== undefined || parts.trackAll === true;
  const { caller, work } = request;
  const record = isTracked
    ? parts.tracked.requireRoom(caller.impersonator ?? caller, parts.trackAll === true, work)
    : undefined;
  if (dryRun) {
    await willAnswer(CREATED);
    return granted('');
  }
  request.annotate(ISSUED_CREDENTIAL_ID, credentialIdOf(claims.jti));
  await pass?.recordToken(claims.jti, claims.exp * 1000, 'ours');
  if (record === undefined && parts.signer.isLocal) {
    // From here on only signing could fail, and a second line of the audit log would say so.
    const audited = willAnswer(CREATED);
    const token = await sign(parts.signer, claims);
    await audited;
    return granted(token);
  }
  const token = await sign(parts.signer, claims);
  await record?.(cluster, claims, bindingOf(parts, grant));
  await willAnswer(CREATED);
  return granted(token);
}

/** The binding that the token ends with. One that was deleted meanwhile has no uid: then the sweep ends the token. */
export function bindingOf(
  { catalog, reader }: Pick<SignTokenParts, 'catalog' | 'reader'>,
  { permission: { grant } }: TokenGrant,
): IssuedTokenSpec['fleetRoleBinding'] {
  if (grant?.kind !== 'FleetRoleBinding') return undefined;
  const { name } = grant;
  return { name, uid: reader.find(catalog.fleetRoleBindings, fleetKey(name))?.uid ?? 'deleted' };
}

/** Refuses audiences that no signature suits, and warns of one that differs from what they demand. */
function checkSignature({ signer }: SignTokenParts, audiences: readonly string[], warn: (text: string) => void): void {
  const { problem, warning } = signer.check(audiences);
  if (problem !== undefined) requireValidRequest([invalidValue('spec.audiences', audiences, problem)]);
  if (warning !== undefined) warn(warning);
}

/** T-25 */
const sign = (signer: Signer, claims: SignedClaims): Promise<string> =>
  signer.sign(claims).catch((cause: unknown) => {
    const message = 'failed to generate token';
    throw new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, {
      details: { causes: [{ message }] },
      cause,
    });
  });

const audienceWarning = (cluster: string, audience: string): string =>
  `this token will not open the API of cluster "${cluster}": its audiences do not include "${audience}"`;

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

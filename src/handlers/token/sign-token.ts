import type { Catalog } from '../../api/catalog.ts';
import { credentialIdOf, ISSUED_CREDENTIAL_ID } from '../../api/credential-id.ts';
import { invalidValue } from '../../api/field-error.ts';
import type { IssuedTokenSpec } from '../../api/kinds/issued-token.ts';
import type { GrantedTokenRequest } from '../../api/kinds/token-request.ts';
import { fleetKey } from '../../api/object-key.ts';
import { ApiError } from '../../api/status.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { LifetimeBounds } from '../../tokens/grant-lifetime.ts';
import type { TrackedTokens } from '../../tokens/revocations/tracked-tokens.ts';
import type { SignedClaims, Signer } from '../../tokens/signer.ts';
import { CREATED, grantedTokenRequest, type TokenHolder } from './answer-token-request.ts';
import type { ParsedTokenRequest } from './parse-token-request.ts';
import type { TokenGrant } from './token-input.ts';
import { requireLifetime, warnOfEarlierExpiry } from './token-lifetime.ts';
import { requireValidRequest } from './validate-token-request.ts';

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

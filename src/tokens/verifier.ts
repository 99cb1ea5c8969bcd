import { goQuote } from '../api/codec/go-text/go-quote.ts';
import type { JsonObject } from '../lib/json-object.ts';
import type { MaybePromise } from '../lib/maybe-promise.ts';
import type { Secret } from '../observability/secret.ts';
import { readClaims, type TokenClaims } from './claims.ts';
import {
  decodeSegment,
  isCanonicalJson,
  parseJsonObject,
  readHeader,
  type Segments,
  splitToken,
  TokenRejected,
} from './jws.ts';
import type { VerificationKey } from './keys/key-material.ts';
import type { KeyRing } from './keys/key-ring.ts';
import { clusterProblem, type LiveObjects, livenessProblem, timeProblem } from './liveness.ts';
import { CLUSTER_UID, type PersonClaims, readPersonClaims } from './person-claims.ts';
import type { SignedClaims } from './signer.ts';
import { VerifiedTokenCache } from './verified-token-cache.ts';

/** What a token says, and the key under which its signature holds. */
interface SignedToken<C extends SignedClaims> {
  readonly cluster: string;
  /** The credential is identified by `jti`, never by the bytes of the token: one token has several spellings. */
  readonly claims: C;
  readonly kid: string;
  /** Of the key: an external signer may publish another key under the same id. */
  readonly thumbprint: string;
}

/** A token that was accepted at the moment of `verify`. */
export interface VerifiedToken<C extends SignedClaims = TokenClaims> extends SignedToken<C> {
  /** Those of the token's audiences that were asked for. */
  readonly audiences: readonly string[];
}

/** The only verifier of issued tokens, for every endpoint: a check that is made here holds everywhere. */
export interface Verifier<C extends SignedClaims = TokenClaims> {
  /**
   * Undefined: a token of another issuer (K-10). Throws TokenRejected, or rejects with it: the answer for a cached
   * token is not a promise. Without `audiences` the token must be for the API of its own cluster, whose audience is
   * its issuer. With `cluster`, tokens of other clusters are undefined, whatever is wrong with them: a question about
   * one cluster reveals nothing about another.
   */
  verify(token: Secret, audiences?: readonly string[], cluster?: string): MaybePromise<VerifiedToken<C> | undefined>;
  /** Whether a token that was verified earlier would be accepted now. Reads memory only. */
  isLive(verified: VerifiedToken<C>): boolean;
}

interface VerifierParts {
  readonly keyRing: Pick<KeyRing, 'find' | 'all'>;
  readonly clusterOfIssuer: (issuer: string) => string | undefined;
  readonly live: LiveObjects;
  /** Whether the token with this id was revoked. Reads memory only. */
  readonly isRevoked: (jti: string) => boolean;
  readonly now: () => number;
}

/** Of tokens of service accounts. */
export const createVerifier = (parts: VerifierParts): Verifier =>
  verifierOf(parts, {
    what: 'service account token',
    read: readClaims,
    findLivenessProblem: (cluster, claims, at) => livenessProblem(parts.live, cluster, claims, at),
  });

/** Of passes for people. Its `clusterOfIssuer` knows the issuers of people and no other. */
export const createPeopleVerifier = (parts: VerifierParts): Verifier<PersonClaims> =>
  verifierOf(parts, {
    what: 'token of a person',
    read: readPersonClaims,
    findLivenessProblem: (cluster, claims, at) => clusterProblem(parts.live, cluster, at, claims[CLUSTER_UID]),
  });

interface TokenType<C extends SignedClaims> {
  /** In the reasons of refusals. */
  readonly what: string;
  readonly read: (payload: JsonObject) => C;
  /** Says which object that the token depends on is gone; undefined when none is. */
  readonly findLivenessProblem: (cluster: string, claims: C, at: number) => string | undefined;
}

function verifierOf<C extends SignedClaims>(
  { keyRing, clusterOfIssuer, isRevoked, now }: Omit<VerifierParts, 'live'>,
  { what, read, findLivenessProblem }: TokenType<C>,
): Verifier<C> {
  const hasKey = ({ kid, thumbprint }: SignedToken<C>): boolean => keyRing.find(kid)?.thumbprint === thumbprint;
  const cache = new VerifiedTokenCache<SignedToken<C> | undefined>({ verify: verifySignature, hasKey });

  async function verifySignature(token: string): Promise<SignedToken<C> | undefined> {
    const segments = splitToken(token);
    if (segments === undefined) return undefined;
    const payloadBytes = decodeSegment(segments.payload);
    const payload = payloadBytes && parseJsonObject(payloadBytes);
    if (!payloadBytes || !payload || typeof payload.iss !== 'string') return undefined;
    if (clusterOfIssuer(payload.iss) === undefined) return undefined;

    const { kid, thumbprint } = await signingKeyOf(segments, candidates(keyRing, segments.header));

    if (!isCanonicalJson(payload, payloadBytes)) throw new TokenRejected('token payload is malformed');
    const claims = read(payload);
    // K-13: decided again by the verified claims, not by the unverified payload above.
    const cluster = clusterOfIssuer(claims.iss);
    if (cluster === undefined) throw new TokenRejected(`token issuer ${JSON.stringify(claims.iss)} is invalid`);
    return { cluster, claims, kid, thumbprint };
  }

  /** Everything that can change after the signature was verified. */
  function problem(signed: SignedToken<C>): string | undefined {
    const { cluster, claims } = signed;
    const at = now();
    if (!hasKey(signed)) return NO_KEYS;
    const timeError = timeProblem(claims, at, what);
    if (timeError !== undefined) return timeError;
    if (isRevoked(claims.jti)) return `${what} has been revoked`;
    return findLivenessProblem(cluster, claims, at);
  }

  /** Synchronous: the answer is true at the moment at which it is given. */
  function acceptOrReject(
    signed: SignedToken<C> | undefined,
    audiences: readonly string[] | undefined,
    cluster: string | undefined,
  ): VerifiedToken<C> | undefined {
    if (signed === undefined || (cluster !== undefined && signed.cluster !== cluster)) return undefined;
    const { claims, kid, thumbprint } = signed;
    const wanted = audiences === undefined || audiences.length === 0 ? [claims.iss] : audiences;
    const common = commonAudiences(claims.aud, wanted);
    const found = problem(signed);
    if (found !== undefined) throw new TokenRejected(found);
    return { cluster: signed.cluster, claims, kid, thumbprint, audiences: common };
  }

  return {
    verify(token, audiences, cluster) {
      const signed = cache.get(token);
      if (!(signed instanceof Promise)) return acceptOrReject(signed, audiences, cluster);
      return signed.then((verified) => acceptOrReject(verified, audiences, cluster));
    },
    isLive: (verified) => problem(verified) === undefined,
  };
}

const NO_KEYS = 'invalid signature, no keys found';

/**
 * K-11. The algorithm belongs to the key and is compared with the header, never taken from it (RFC 8725
 * section 3.1): a header cannot turn a public key into an HMAC secret, nor signing off.
 */
function candidates(keyRing: VerifierParts['keyRing'], headerSegment: string): readonly VerificationKey[] {
  const { alg, kid } = readHeader(headerSegment);
  const named = kid === undefined ? keyRing.all() : [keyRing.find(kid)];
  const usable = named.filter((key) => key !== undefined);
  if (usable.length === 0) throw new TokenRejected(NO_KEYS);
  const matching = usable.filter((key) => key.alg === alg);
  if (matching.length === 0) throw new TokenRejected('token algorithm does not match the key');
  return matching;
}

/** K-12: the key under which the signature holds. */
async function signingKeyOf(segments: Segments, keys: readonly VerificationKey[]): Promise<VerificationKey> {
  const signature = decodeSegment(segments.signature);
  const input = Buffer.from(`${segments.header}.${segments.payload}`, 'latin1');
  for (const key of keys) {
    // A wrong length (a DER or cut-off signature) is refused before it costs a task of the thread pool.
    if (signature?.length === key.signatureLength && (await key.verify(input, signature))) return key;
  }
  throw new TokenRejected('invalid signature');
}

/** K-14: the token's audiences that were asked for, in the token's order. None in common is a refusal. */
function commonAudiences(token: readonly string[], wanted: readonly string[]): readonly string[] {
  // A set: a review may ask for thousands of audiences.
  const asked = new Set(wanted);
  const common = token.filter((audience) => asked.has(audience));
  if (common.length > 0) return common;
  throw new TokenRejected(
    `token audiences ${quotedList(token)} is invalid for the target audiences ${quotedList(wanted)}`,
  );
}

/** Go's `%q` of a slice of strings: `["a" "b"]`. */
const quotedList = (texts: readonly string[]): string => `[${texts.map(goQuote).join(' ')}]`;

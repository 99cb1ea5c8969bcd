import { goQuote } from '../api/codec/go-text/go-quote.ts';
import { LEEWAY_MS } from '../api/kind.ts';
import type { JsonObject } from '../lib/json.ts';
import type { MaybePromise } from '../lib/promises.ts';
import type { Secret } from '../observability/secret.ts';
import { expiryOf, type PersonClaims, readClaims, readPersonClaims, type TokenClaims } from './claims.ts';
import {
  DEPENDENCIES,
  type Dependency,
  type DependencyRow,
  dependenciesOf,
  type FindLive,
  nameOf,
} from './dependencies.ts';
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
  readonly dependencies: readonly Dependency[];
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
  readonly findLive: FindLive;
  readonly now: () => number;
  readonly dependencies?: readonly DependencyRow[];
}

/** The verifier of service account tokens. */
export const createVerifier = (parts: VerifierParts): Verifier => verifierOf(parts, readClaims);

/** The verifier of passes for people. Its `clusterOfIssuer` knows the issuers of people and no other. */
export const createPeopleVerifier = (parts: VerifierParts): Verifier<PersonClaims> =>
  verifierOf(parts, readPersonClaims);

function verifierOf<C extends SignedClaims>(
  { keyRing, clusterOfIssuer, findLive, now, dependencies: rows = DEPENDENCIES }: VerifierParts,
  read: (payload: JsonObject) => C,
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
    return { cluster, claims, kid, thumbprint, dependencies: dependenciesOf(cluster, claims, rows) };
  }

  /** Everything that can change after the signature was verified. */
  function problem(signed: SignedToken<C>): string | undefined {
    const at = now();
    if (!hasKey(signed)) return NO_KEYS;
    const timeError = timeProblem(signed.claims, at);
    if (timeError !== undefined) return timeError;
    for (const { resource, key, problem: refusal } of signed.dependencies) {
      const found = refusal(findLive(resource, key), at);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Synchronous: the answer is true at the moment at which it is given. */
  function acceptOrReject(
    signed: SignedToken<C> | undefined,
    audiences: readonly string[] | undefined,
    cluster: string | undefined,
  ): VerifiedToken<C> | undefined {
    if (signed === undefined || (cluster !== undefined && signed.cluster !== cluster)) return undefined;
    const { claims } = signed;
    const wanted = audiences === undefined || audiences.length === 0 ? [claims.iss] : audiences;
    const common = commonAudiences(claims.aud, wanted);
    const found = problem(signed);
    if (found !== undefined) throw new TokenRejected(found);
    return { ...signed, audiences: common };
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

/** The reason for a refusal, or undefined. In the order nbf, exp, iat (K-15). */
function timeProblem(claims: SignedClaims, now: number): string | undefined {
  if (now + LEEWAY_MS < claims.nbf * 1000) return `${nameOf(claims)} is not valid yet`;
  if (now > expiryOf(claims)) return `${nameOf(claims)} has expired`;
  if (now + LEEWAY_MS < claims.iat * 1000) return `${nameOf(claims)} is issued in the future`;
  return undefined;
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

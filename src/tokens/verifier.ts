import type { Secret } from '../observability/secret.ts';
import { commonAudiences } from './audiences.ts';
import type { NodeRef, ObjectRef, TokenClaims } from './claims.ts';
import { decodeSegment, isCanonicalJson, parseJsonObject, readHeader, type Segments, splitToken } from './jws.ts';
import type { VerificationKey } from './keys/key-material.ts';
import type { KeyRing } from './keys/key-ring.ts';
import { createLiveness, expiryOf, type LiveObjects, timeProblem } from './liveness.ts';
import { readClaims } from './read-claims.ts';
import { createSignedCache } from './signed-cache.ts';
import { NOT_MINE, type NotMine, TokenRejected } from './token-rejected.ts';

export interface Verified {
  readonly cluster: string;
  readonly namespace: string;
  readonly serviceAccount: ObjectRef;
  readonly pod?: ObjectRef;
  readonly secret?: ObjectRef;
  readonly node?: NodeRef;
  /** The credential's identity. The bytes of a token are none: one token can be spelled in several ways. */
  readonly jti: string;
  /** Those of the token's audiences that were asked for. */
  readonly audiences: readonly string[];
  /** The last moment at which the token is accepted, leeway included (epoch milliseconds). */
  readonly expiresAt: number;
  readonly claims: TokenClaims;
  /** The key that signed it. */
  readonly kid: string;
}

/** The one way by which an issued token is judged, whatever the endpoint: expiry checked in one place holds everywhere. */
export interface Verifier {
  /**
   * Rejects with TokenRejected, or throws it: what is remembered is answered at once. `audiences` absent or empty means the API audience of the token's own cluster,
   * which is its issuer. With `cluster`, the tokens of every other cluster are not mine, whatever is wrong with them:
   * who asks about one cluster learns nothing of another.
   */
  verify(
    token: Secret,
    audiences?: readonly string[],
    cluster?: string,
  ): Promise<Verified | NotMine> | Verified | NotMine;
  /** Whether what was verified earlier would still pass. Looks only at memory. */
  isLive(verified: Verified): boolean;
}

export interface VerifierParts {
  readonly keyRing: Pick<KeyRing, 'find' | 'all'>;
  readonly clusterOfIssuer: (issuer: string) => string | undefined;
  readonly live: LiveObjects;
  /** Whether the token with this id was revoked. Looks only at memory. */
  readonly isRevoked: (jti: string) => boolean;
  readonly now: () => number;
}

interface Signed {
  readonly cluster: string;
  readonly claims: TokenClaims;
  readonly kid: string;
}

const CACHE_ENTRIES = 10_000;
const CACHE_MS = 10_000;

export function createVerifier({ keyRing, clusterOfIssuer, live, isRevoked, now }: VerifierParts): Verifier {
  // Stricter than K-24, which remembers whole decisions: there a revocation may lag by ten seconds, here by none.
  const cache = createSignedCache<Signed | NotMine>({
    maxEntries: CACHE_ENTRIES,
    maxAgeMs: CACHE_MS,
    keep: (value) => value !== NOT_MINE,
  });

  const liveProblem = createLiveness(live);

  /** What a token that is used again and again comes to: the same every time, as long as nothing is wrong. */
  const forApi = new WeakMap<Signed, Verified>();

  async function readSigned(token: string): Promise<Signed | NotMine> {
    const segments = splitToken(token);
    if (segments === undefined) return NOT_MINE;
    const payloadBytes = decodeSegment(segments.payload);
    const payload = payloadBytes && parseJsonObject(payloadBytes);
    if (!payloadBytes || !payload || typeof payload.iss !== 'string') return NOT_MINE;
    if (clusterOfIssuer(payload.iss) === undefined) return NOT_MINE;

    const key = await signingKeyOf(segments, candidates(keyRing, segments.header));

    if (!isCanonicalJson(payload, payloadBytes)) throw new TokenRejected('token payload is malformed');
    const claims = readClaims(payload);
    // K-13: decided once more on the claims that were verified, not on what was peeked at before.
    const cluster = clusterOfIssuer(claims.iss);
    if (cluster === undefined) throw new TokenRejected(`token issuer ${JSON.stringify(claims.iss)} is invalid`);
    return { cluster, claims, kid: key.kid };
  }

  function problem({ cluster, claims, kid }: Signed, at: number): string | undefined {
    if (keyRing.find(kid) === undefined) return NO_KEYS;
    const expired = timeProblem(claims, at);
    if (expired !== undefined) return expired;
    // By its id, never by its bytes: one token can be spelled in several ways that verify.
    if (isRevoked(claims.jti)) return 'service account token has been revoked';
    return liveProblem(cluster, claims, at);
  }

  /** Nothing in here waits: the answer is true at the moment it is given. */
  function judge(
    signed: Signed | NotMine,
    audiences: readonly string[] | undefined,
    only: string | undefined,
  ): Verified | NotMine {
    if (signed === NOT_MINE || (only !== undefined && signed.cluster !== only)) return NOT_MINE;
    const isForApi = audiences === undefined || audiences.length === 0;
    const known = isForApi ? forApi.get(signed) : undefined;
    const common = known?.audiences ?? commonAudiences(signed.claims.aud, isForApi ? [signed.claims.iss] : audiences);
    const wrong = problem(signed, now());
    if (wrong !== undefined) throw new TokenRejected(wrong);
    if (known !== undefined) return known;
    const verified = verifiedOf(signed, common);
    if (isForApi) forApi.set(signed, verified);
    return verified;
  }

  return {
    verify(token, audiences, only) {
      const signed = cache.get(token.digest(), now(), () => readSigned(token.reveal()));
      if (!(signed instanceof Promise)) return judge(signed, audiences, only);
      return signed.then((found) => judge(found, audiences, only));
    },
    isLive: (verified) => problem(verified, now()) === undefined,
  };
}

function verifiedOf({ cluster, claims, kid }: Signed, audiences: readonly string[]): Verified {
  const { namespace, serviceaccount, pod, secret, node } = claims['kubernetes.io'];
  return {
    cluster,
    namespace,
    serviceAccount: serviceaccount,
    ...(pod === undefined ? {} : { pod }),
    ...(secret === undefined ? {} : { secret }),
    ...(node === undefined ? {} : { node }),
    jti: claims.jti,
    audiences,
    expiresAt: expiryOf(claims),
    claims,
    kid,
  };
}

const NO_KEYS = 'invalid signature, no keys found';

/**
 * K-11. The algorithm belongs to the key and is compared with the header, never taken from it (RFC 8725
 * section 3.1): a header can not turn a public key into an HMAC secret, nor signing off.
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
    // A wrong length (a DER or cut-off signature) is settled before it costs a turn on the thread pool.
    if (signature?.length === key.signatureLength && (await key.verify(input, signature))) return key;
  }
  throw new TokenRejected('invalid signature');
}

import { goQuote } from '../api/codec/go-text/go-quote.ts';
import { type PersonClaims, readClaims, readPersonClaims, type TokenClaims } from './claims.ts';
import { bytesIn, encodePayload, parseJsonObject } from './jws.ts';
import type { Algorithm } from './keys/algorithms.ts';
import type { KeyRing } from './keys/key-ring.ts';

/** What is signed: the claims of an account or of a person. */
export type SignedClaims = TokenClaims | PersonClaims;

export interface Signer {
  /**
   * Whether this process has the keys. Local signing practically never fails, so the audit event of success is written
   * while it runs; an external signer may be unreachable.
   */
  readonly isLocal: boolean;
  /** Whether a token for these audiences can be signed, before anything is promised. */
  check(audiences: readonly string[]): SignatureCheck;
  /** The audiences decide the algorithm. */
  sign(claims: SignedClaims): Promise<string>;
}

interface SignatureCheck {
  /** Why there can be no such token. */
  readonly problem?: string;
  /** How the signature differs from what the audiences demand. */
  readonly warning?: string;
}

export const SIGNABLE: SignatureCheck = {};
const NO_DEMANDS: AudienceAlgorithms = new Map();

export function createSigner(keyRing: Pick<KeyRing, 'signing'>, byAudience: AudienceAlgorithms = NO_DEMANDS): Signer {
  return {
    isLocal: true,
    check(audiences) {
      const demand = demandOf(byAudience, audiences);
      if (demand.problem !== undefined) return { problem: demand.problem };
      const { algorithm } = demand;
      if (algorithm === undefined) return SIGNABLE;
      const { alg } = keyRing.signing(algorithm);
      if (alg === algorithm) return SIGNABLE;
      return { warning: `the first ${algorithm} key is not published long enough: this token is signed with ${alg}` };
    },
    async sign(claims) {
      const demand = demandOf(byAudience, claims.aud);
      if (demand.problem !== undefined) throw new Error(demand.problem);
      const key = keyRing.signing(demand.algorithm);
      const payload = encodePayload(claims);
      const input = `${key.header}.${payload}`;
      const signature = await key.sign(input);
      assertPayload(payload, claims);
      if (bytesIn(signature) !== key.signatureLength)
        throw new Error('the signature is not as long as those of its key');
      return `${input}.${signature}`;
    },
  };
}

/**
 * B10: a token is not released unless its payload, read by the verifier's own reader, says what was granted. The
 * signature itself is not verified again: for ES256 that costs two and a half times the signing and would cut the
 * rate of issuing to less than a third. A damaged key is found when the ring is opened, and a wrong signature is
 * refused everywhere.
 */
export function assertPayload(payload: string, claims: SignedClaims): void {
  if (!says(payload, claims)) throw new Error('the token does not say what was granted');
}

/** As text: both have their members in one order, and a generic deep comparison takes five times as long. */
function says(segment: string, claims: SignedClaims): boolean {
  const value = parseJsonObject(Buffer.from(segment, 'base64url'));
  if (value === undefined) return false;
  try {
    const read = 'kubernetes.io' in claims ? readClaims(value) : readPersonClaims(value);
    return JSON.stringify(read) === JSON.stringify(claims);
  } catch {
    return false;
  }
}

/** The algorithm that a token for an audience is signed with (`--signing-algorithm-for`). Others take the default. */
export type AudienceAlgorithms = ReadonlyMap<string, Algorithm>;

/** What the audiences of a token demand: an algorithm, or two different ones, which no signature can have. */
type AlgorithmDemand =
  | { readonly algorithm: Algorithm | undefined; readonly problem?: undefined }
  | { readonly problem: string };

const ANY: AlgorithmDemand = { algorithm: undefined };

export function demandOf(byAudience: AudienceAlgorithms, audiences: readonly string[]): AlgorithmDemand {
  if (byAudience.size === 0) return ANY;
  const demands = audiences.flatMap((audience) => {
    const algorithm = byAudience.get(audience);
    return algorithm === undefined ? [] : [{ audience, algorithm }];
  });
  const [first] = demands;
  if (first === undefined) return ANY;
  const other = demands.find(({ algorithm }) => algorithm !== first.algorithm);
  if (other === undefined) return { algorithm: first.algorithm };
  const texts = [first, other].map(({ audience, algorithm }) => `${goQuote(audience)} takes ${algorithm}`);
  return { problem: `a token has one signature, and ${texts.join(', ')}: request a token for each` };
}

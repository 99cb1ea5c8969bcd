import { randomBytes, randomUUID } from 'node:crypto';
import { type JwsAlgorithm, SIGNATURE_BYTES } from './jws-algorithms.ts';

interface UnverifiableClaims {
  readonly issuer: string;
  readonly audience: string;
  /** One that the verifier accepts: others are refused without a look at the keys. */
  readonly algorithm: JwsAlgorithm;
  /** Epoch milliseconds. */
  readonly now: number;
}

const LIFETIME_SECONDS = 60;

/**
 * A JWT that no key verifies: its key id and its signature are random. A verifier with cached keys that gets one reads
 * the key set of the issuer again, before it refuses the token. Issuer, audience and times are right, because they are
 * checked before the signature.
 */
export function unverifiableToken({ issuer, audience, algorithm, now }: UnverifiableClaims): string {
  const seconds = Math.floor(now / 1000);
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = { alg: algorithm, kid: randomUUID() };
  const times = { iat: seconds, nbf: seconds, exp: seconds + LIFETIME_SECONDS };
  const claims = { iss: issuer, aud: [audience], sub: 'refresh', ...times };
  return `${encode(header)}.${encode(claims)}.${randomBytes(SIGNATURE_BYTES[algorithm]).toString('base64url')}`;
}

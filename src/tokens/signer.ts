import { isDeepStrictEqual } from 'node:util';
import type { TokenClaims } from './claims.ts';
import { decodeSegment, encodeHeader, encodePayload, isCanonicalJson, parseJsonObject, splitToken } from './jws.ts';
import type { SigningKey } from './key-material.ts';
import type { KeyRing } from './key-ring.ts';
import { readClaims } from './read-claims.ts';

export interface Signer {
  sign(claims: TokenClaims): Promise<string>;
}

export function createSigner(keyRing: Pick<KeyRing, 'signing'>): Signer {
  const headers = new WeakMap<SigningKey, string>();

  function headerFor(key: SigningKey): string {
    const known = headers.get(key);
    if (known !== undefined) return known;
    const header = encodeHeader(key.alg, key.kid);
    headers.set(key, header);
    return header;
  }

  return {
    async sign(claims) {
      const key = keyRing.signing();
      const input = `${headerFor(key)}.${encodePayload(claims)}`;
      const signature = Buffer.from(await key.sign(Buffer.from(input, 'latin1')));
      const token = `${input}.${signature.toString('base64url')}`;
      assertSays(token, claims, key);
      return token;
    },
  };
}

/**
 * A token is not released unless it reads back, through the verifier's own reader, as what was to be granted. The
 * signature itself is not verified again: for ES256 that costs two and a half times the signing and would cut the
 * rate of issuing to less than a third, while a damaged key is found when the ring is opened, and a signature that
 * went wrong harms nobody: it is refused everywhere.
 */
export function assertSays(token: string, claims: TokenClaims, key: Pick<SigningKey, 'signatureLength'>): void {
  const segments = splitToken(token);
  const signature = segments && decodeSegment(segments.signature);
  if (signature?.length !== key.signatureLength || !isDeepStrictEqual(claimsIn(segments?.payload ?? ''), claims)) {
    throw new Error('the signed token does not say what was granted');
  }
}

function claimsIn(segment: string): TokenClaims | undefined {
  const bytes = decodeSegment(segment);
  const value = bytes && parseJsonObject(bytes);
  if (!value || !isCanonicalJson(value, bytes)) return undefined;
  try {
    return readClaims(value);
  } catch {
    return undefined;
  }
}

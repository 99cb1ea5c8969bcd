import type { VerificationKey } from './key-material.ts';

/** A public key as verifiers read it (RFC 7517), members in the order of O-02. */
export interface PublicJwk {
  readonly use: 'sig';
  readonly kty: string;
  readonly kid: string;
  readonly crv?: string;
  readonly alg: string;
  readonly x?: string;
  readonly y?: string;
  readonly n?: string;
  readonly e?: string;
}

/** Member by member: an export of the wrong key could hold more than is public. */
export function publicJwk({ publicKey, kid, alg }: Pick<VerificationKey, 'publicKey' | 'kid' | 'alg'>): PublicJwk {
  const { kty, crv, x, y, n, e } = publicKey.export({ format: 'jwk' });
  if (publicKey.type !== 'public' || kty === undefined) throw new TypeError('not a public key');
  return kty === 'EC' && crv !== undefined && x !== undefined && y !== undefined
    ? { use: 'sig', kty, kid, crv, alg, x, y }
    : { use: 'sig', kty, kid, alg, ...(n === undefined || e === undefined ? {} : { n, e }) };
}

import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { encodeHeader } from '../jws.ts';
import { type Algorithm, algorithmOf, newPrivateKey, signatureLengthOf, signJws, verifyWith } from './algorithms.ts';
import type { KeyRecord, MakeKey } from './ring-state.ts';
import { SigningThreads } from './signing-threads.ts';

export interface VerificationKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly publicKey: KeyObject;
  /** `keyId` of the key: two keys of one kid differ in it. */
  readonly thumbprint: string;
  readonly signatureLength: number;
  verify(data: Uint8Array, signature: Uint8Array): Promise<boolean>;
}

/** Does not expose the private key: only signing needs it. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: Algorithm;
  /** The first segment of every token that it signs. */
  readonly header: string;
  readonly signatureLength: number;
  /** The signature of a token's first two segments, as its third segment. */
  sign(input: string): Promise<string>;
  /** For a key that is not in use any more: what it was asked to sign before is still signed. */
  close(): void;
}

/** K-02: derived from the key alone, so every replica gives a key the same id, also after a restart. */
export function keyId(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
}

const ATTEMPTS = 16;

export const makeKey: MakeKey = async (algorithm, created) => {
  for (let attempt = 1; ; attempt++) {
    const record = recordOf(await newPrivateKey(algorithm), algorithm, created);
    // On a command line, an id that starts with a dash would be parsed as a flag.
    if (/^[A-Za-z0-9]/.test(record.kid) || attempt >= ATTEMPTS) return record;
  }
};

export function recordOf(privateKey: KeyObject, algorithm: Algorithm, created: number): Awaited<ReturnType<MakeKey>> {
  const publicKey = createPublicKey(privateKey);
  return {
    kid: keyId(publicKey),
    algorithm,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
    created,
  };
}

export function verificationKey(publicKey: KeyObject, alg: Algorithm, kid?: string): VerificationKey {
  const thumbprint = keyId(publicKey);
  return {
    kid: kid ?? thumbprint,
    alg,
    publicKey,
    thumbprint,
    signatureLength: signatureLengthOf(alg, publicKey),
    verify: (data, signature) => verifyWith(alg, publicKey, data, signature),
  };
}

/** Throws when the id or the algorithm of the record is not that of its key. */
export function readVerificationKey(record: KeyRecord): VerificationKey {
  const publicKey = createPublicKey({ key: Buffer.from(record.publicKey, 'base64'), format: 'der', type: 'spki' });
  const key = verificationKey(publicKey, record.algorithm);
  if (key.kid !== record.kid || algorithmOf(publicKey) !== record.algorithm) {
    throw new Error(`the key ${record.kid} does not match its record`);
  }
  return key;
}

/** Signs and verifies a probe, once for each key in place of once for each token: it detects a damaged key (B10). */
export async function readSigningKey(record: KeyRecord, verification: VerificationKey): Promise<SigningKey> {
  const { kid, algorithm: alg } = record;
  if (record.privateKey === undefined) throw new Error(`the key ${kid} has no private key`);
  const privateKey = createPrivateKey({ key: Buffer.from(record.privateKey, 'base64'), format: 'der', type: 'pkcs8' });
  const probe = randomBytes(32).toString('base64url');
  const signature = Buffer.from(signJws(alg, privateKey, probe), 'base64url');
  if (!(await verification.verify(Buffer.from(probe), signature))) {
    throw new Error(`the key ${kid} cannot verify its own signatures`);
  }
  const threads = new SigningThreads(alg, privateKey);
  return {
    kid,
    alg,
    header: encodeHeader(alg, kid),
    signatureLength: verification.signatureLength,
    sign: (input) => threads.sign(input),
    close: () => threads.close(),
  };
}

/**
 * A public key in the key set (RFC 7517), members in the order of O-02. Member by member: the export of a private key
 * has members that must not be published.
 */
export function publicJwk({ publicKey, kid, alg }: Pick<VerificationKey, 'publicKey' | 'kid' | 'alg'>) {
  const { kty, crv, x, y, n, e } = publicKey.export({ format: 'jwk' });
  if (publicKey.type !== 'public' || kty === undefined) throw new TypeError('not a public key');
  return kty === 'EC' && crv !== undefined && x !== undefined && y !== undefined
    ? { use: 'sig', kty, kid, crv, alg, x, y }
    : { use: 'sig', kty, kid, alg, ...(n === undefined || e === undefined ? {} : { n, e }) };
}

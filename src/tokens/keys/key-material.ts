import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { encodeHeader } from '../jws.ts';
import {
  type Algorithm,
  algorithmOf,
  newPrivateKey,
  type SignJws,
  signatureLengthOf,
  signJws,
  verifyWith,
} from './algorithms.ts';
import type { KeyRecord, MakeKey } from './ring-state.ts';

export interface VerificationKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly publicKey: KeyObject;
  /** `keyId` of the key: two keys of one kid differ in it. */
  readonly thumbprint: string;
  readonly signatureLength: number;
  verify(data: Uint8Array, signature: Uint8Array): Promise<boolean>;
}

/** Does not show the private key: nothing but signing needs it. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: Algorithm;
  /** The first segment of every token that it signs. */
  readonly header: string;
  readonly signatureLength: number;
  /** Gives the signature of a token's first two segments as its third. */
  sign(input: string): Promise<string>;
}

/** K-02: the id follows from the key alone, so every replica and every restart gives the same. */
export function keyId(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
}

const ATTEMPTS = 16;

export const makeKey: MakeKey = async (algorithm, created) => {
  for (let attempt = 1; ; attempt++) {
    const record = recordOf(await newPrivateKey(algorithm), algorithm, created);
    // Ids are typed at a command line, where one that starts with a dash would be taken for a flag.
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

/** Throws when the record is not about one key. */
export function readVerificationKey(record: KeyRecord): VerificationKey {
  const publicKey = createPublicKey({ key: Buffer.from(record.publicKey, 'base64'), format: 'der', type: 'spki' });
  const key = verificationKey(publicKey, record.algorithm);
  if (key.kid !== record.kid || algorithmOf(publicKey) !== record.algorithm) {
    throw new Error(`the key ${record.kid} is not what its record says`);
  }
  return key;
}

/** Tried once, when it is read, instead of once per token: a damaged key shows here (see signer.ts). */
export async function readSigningKey(
  record: KeyRecord,
  verification: VerificationKey,
  sign: SignJws = signJws,
): Promise<SigningKey> {
  const { kid, algorithm: alg } = record;
  if (record.privateKey === undefined) throw new Error(`the key ${kid} can not sign`);
  const privateKey = createPrivateKey({ key: Buffer.from(record.privateKey, 'base64'), format: 'der', type: 'pkcs8' });
  const key: SigningKey = {
    kid,
    alg,
    header: encodeHeader(alg, kid),
    signatureLength: verification.signatureLength,
    sign: (input) => sign(alg, privateKey, input),
  };
  const probe = randomBytes(32).toString('base64url');
  const signature = Buffer.from(await key.sign(probe), 'base64url');
  if (!(await verification.verify(Buffer.from(probe), signature))) {
    throw new Error(`the key ${kid} can not verify what it signs`);
  }
  return key;
}

import {
  constants,
  type KeyObject,
  generateKeyPair as nodeGenerateKeyPair,
  sign as nodeSign,
  verify as nodeVerify,
} from 'node:crypto';
import { promisify } from 'node:util';
import { JWS_ALGORITHMS, type JwsAlgorithm, SIGNATURE_BYTES } from '../../lib/jws-algorithms.ts';

export type Algorithm = JwsAlgorithm;

/**
 * Every fact about an algorithm (RFC 7518 sections 3.3 and 3.4) but the length of its signatures, which clients know
 * too. Elliptic signatures are the fixed-length r||s of JOSE (`ieee-p1363`), never DER.
 */
interface Facts {
  readonly keyType: 'ec' | 'rsa';
  /** OpenSSL's name of the curve; undefined for RSA. */
  readonly curve: string | undefined;
  readonly hash: 'sha256' | 'sha384';
  /** The most inputs in one message to a signing thread, which signs them within two milliseconds. */
  readonly batchSize: number;
}

const FACTS: Readonly<Record<Algorithm, Facts>> = {
  ES256: { keyType: 'ec', curve: 'prime256v1', hash: 'sha256', batchSize: 32 },
  ES384: { keyType: 'ec', curve: 'secp384r1', hash: 'sha384', batchSize: 1 },
  RS256: { keyType: 'rsa', curve: undefined, hash: 'sha256', batchSize: 1 },
};

/** RFC 7518 section 3.3: a key of 2048 bits or larger. An RSA signature is as long as the modulus. */
const RSA_BITS = 2048;

const verifyAsync = promisify(nodeVerify);
const generateKeyPair = promisify(nodeGenerateKeyPair);

/** K-01: a key has one algorithm. RSA is RS256, and the curve decides the others. */
export function algorithmOf(key: KeyObject): Algorithm | undefined {
  const details = key.asymmetricKeyDetails ?? {};
  return JWS_ALGORITHMS.find((name) => {
    const facts = FACTS[name];
    if (key.asymmetricKeyType !== facts.keyType) return false;
    return facts.keyType === 'rsa' ? (details.modulusLength ?? 0) >= RSA_BITS : details.namedCurve === facts.curve;
  });
}

export function signatureLengthOf(algorithm: Algorithm, key: KeyObject): number {
  if (FACTS[algorithm].keyType === 'ec') return SIGNATURE_BYTES[algorithm];
  return Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8);
}

export async function newPrivateKey(algorithm: Algorithm): Promise<KeyObject> {
  const { keyType, curve } = FACTS[algorithm];
  const pair =
    keyType === 'ec'
      ? await generateKeyPair('ec', { namedCurve: curve ?? '' })
      : await generateKeyPair('rsa', { modulusLength: RSA_BITS });
  return pair.privateKey;
}

const usage = ({ keyType }: Facts, key: KeyObject) =>
  keyType === 'ec'
    ? ({ key, dsaEncoding: 'ieee-p1363' } as const)
    : ({ key, padding: constants.RSA_PKCS1_PADDING } as const);

/** The most inputs in one message to a signing thread. Further ones go to the least busy thread. */
export const batchSize = (algorithm: Algorithm): number => FACTS[algorithm].batchSize;

/** The signature of a token's first two segments, as its third segment. Blocks the thread: see SigningThreads. */
export function signJws(algorithm: Algorithm, key: KeyObject, input: string): string {
  const facts = FACTS[algorithm];
  return nodeSign(facts.hash, Buffer.from(input, 'latin1'), usage(facts, key)).toString('base64url');
}

export function verifyWith(
  algorithm: Algorithm,
  key: KeyObject,
  data: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const facts = FACTS[algorithm];
  return verifyAsync(facts.hash, data, usage(facts, key), signature);
}

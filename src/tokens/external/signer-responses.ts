import { createPublicKey } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { JWS_ALGORITHMS } from '../../lib/jws-algorithms.ts';
import { decodeJsonSegment, decodeSegment, readHeader } from '../jws.ts';
import { algorithmOf } from '../keys/algorithms.ts';
import { type VerificationKey, verificationKey } from '../keys/key-material.ts';
import { SignerFailed } from './signer-client.ts';

/** A1: the responses of an external signer. Any other response is refused, and no token is issued. */

const MAX_KEYS = 32;
const MAX_KID_BYTES = 1024;
const MAX_RSA_BITS = 8192;

/** A map: the key is from outside, and an object also has the members of its prototype. */
const MEMBERS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['EC', ['kty', 'crv', 'x', 'y']],
  ['RSA', ['kty', 'n', 'e']],
]);

export function readKeys(response: JsonObject): readonly VerificationKey[] {
  requireSuccess(response);
  checkMembers(response, ['id', 'keys'], 'the list of keys');
  const { keys } = response;
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_KEYS) {
    throw new SignerFailed(`the signer must have 1 to ${MAX_KEYS} keys`);
  }
  const read = keys.map(readKey);
  if (new Set(read.map(({ kid }) => kid)).size < read.length)
    throw new SignerFailed('the signer has two keys of one id');
  return read;
}

function readKey(value: unknown, at: number): VerificationKey {
  const where = `keys[${at}]`;
  if (!isJsonObject(value)) throw new SignerFailed(`${where} must be an object`);
  checkMembers(value, ['kid', 'alg', 'jwk'], where);
  const { alg, jwk } = value;
  const kid = readKid(value.kid, where);
  const members = isJsonObject(jwk) ? MEMBERS.get(jwk.kty) : undefined;
  if (!isJsonObject(jwk) || members === undefined) throw new SignerFailed(`${where}.jwk must be a key of EC or RSA`);
  // Before the key is parsed: a signer that sends a private key is misconfigured.
  checkMembers(jwk, members, `${where}.jwk`);
  let key: VerificationKey['publicKey'];
  try {
    key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
  } catch {
    throw new SignerFailed(`${where}.jwk is not a public key`);
  }
  const algorithm = JWS_ALGORITHMS.find((name) => name === alg);
  if (algorithm === undefined || algorithmOf(key) !== algorithm) {
    throw new SignerFailed(`${where}.alg must be ${JWS_ALGORITHMS.join(', ')}, and that of its key`);
  }
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) > MAX_RSA_BITS) {
    throw new SignerFailed(`${where}.jwk must have at most ${MAX_RSA_BITS} bits`);
  }
  return verificationKey(key, algorithm, kid);
}

/** The kid appears in headers, logs and the key set. */
function readKid(kid: unknown, where: string): string {
  if (typeof kid !== 'string' || kid === '' || Buffer.byteLength(kid) > MAX_KID_BYTES || /\p{C}/u.test(kid)) {
    throw new SignerFailed(`${where}.kid must have 1 to ${MAX_KID_BYTES} bytes, and no control characters`);
  }
  return kid;
}

export function readSignature(response: JsonObject) {
  requireSuccess(response);
  checkMembers(response, ['id', 'header', 'signature'], 'the response');
  const { header, signature } = response;
  if (typeof header !== 'string' || typeof signature !== 'string') {
    throw new SignerFailed('header and signature must be strings');
  }
  let read: ReturnType<typeof readHeader>;
  try {
    // By the verifier's own reader, so that it accepts every token that is issued.
    read = readHeader(header);
  } catch (cause) {
    throw new SignerFailed('the header may have alg, kid and typ (JWT), and must be JSON without white space', {
      cause,
    });
  }
  const { typ } = decodeJsonSegment(header) ?? {};
  if (typ !== undefined && typ !== 'JWT') throw new SignerFailed('typ in the header must be JWT');
  const bytes = decodeSegment(signature);
  if (bytes === undefined || bytes.length === 0)
    throw new SignerFailed('the signature must be base64url, and not empty');
  return { header, alg: read.alg, kid: readKid(read.kid, 'header'), signature: bytes };
}

function requireSuccess({ error }: JsonObject): void {
  if (error !== undefined) throw new SignerFailed(`the signer refused: ${String(error).slice(0, 200)}`);
}

function checkMembers(value: JsonObject, allowed: readonly string[], what: string): void {
  const extra = Object.keys(value).find((member) => !allowed.includes(member));
  if (extra !== undefined)
    throw new SignerFailed(`${what} has an unknown member: ${JSON.stringify(extra.slice(0, 64))}`);
}

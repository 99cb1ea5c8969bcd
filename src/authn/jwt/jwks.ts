import { createPublicKey, type KeyObject } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { keyId } from '../../tokens/keys/key-material.ts';

/** A public key of an issuer. The header of a token selects among `algorithms`, and cannot add one. */
export interface IssuerKey {
  readonly kid: string | undefined;
  readonly algorithms: readonly string[];
  readonly key: KeyObject;
  /** Identifies the key itself: another key may have the same kid, or none. */
  readonly thumbprint: string;
}

/** RFC 7518 sections 3.3 to 3.5. A key on a curve has one algorithm; an RSA key has six, unless it names one. */
const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const CURVES: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
};
const RSA_BITS = { least: 2048, most: 8192 };
/** Issuers publish a handful. */
const MAX_KEYS = 100;

/** The keys of a key set (RFC 7517) that can verify signatures. Others are left out. */
export function readKeySet(document: unknown): readonly IssuerKey[] {
  const list = isJsonObject(document) ? document.keys : undefined;
  if (!Array.isArray(list)) throw new Error('its key set has no list of keys');
  if (list.length > MAX_KEYS) throw new Error(`its key set has more than ${MAX_KEYS} keys`);
  return list.flatMap((entry: unknown) => (isJsonObject(entry) ? (readKey(entry) ?? []) : []));
}

function readKey(jwk: JsonObject): IssuerKey | undefined {
  const { kty, use, key_ops: operations, alg, kid } = jwk;
  if (use !== undefined && use !== 'sig') return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return undefined;
  const possible = kty === 'RSA' ? RSA : kty === 'EC' ? curve(jwk.crv) : [];
  const algorithms = alg === undefined ? possible : possible.filter((name) => name === alg);
  // Also for symmetric keys (`oct`), which a public key set must not contain (RFC 7517 section 4).
  if (algorithms.length === 0) return undefined;
  const key = publicKey(jwk);
  if (key === undefined) return undefined;
  return { kid: typeof kid === 'string' ? kid : undefined, algorithms, key, thumbprint: keyId(key) };
}

const curve = (name: unknown): readonly string[] =>
  typeof name === 'string' && Object.hasOwn(CURVES, name) ? (CURVES[name] ?? []) : [];

/** From the public members only. */
function publicKey({ kty, crv, x, y, n, e }: JsonObject): KeyObject | undefined {
  try {
    const jwk = (kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y }) as Record<string, string>;
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const { modulusLength } = key.asymmetricKeyDetails ?? {};
    if (modulusLength === undefined) return key;
    return modulusLength >= RSA_BITS.least && modulusLength <= RSA_BITS.most ? key : undefined;
  } catch {
    return undefined;
  }
}

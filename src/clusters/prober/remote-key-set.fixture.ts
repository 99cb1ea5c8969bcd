import { createPublicKey, verify, type webcrypto } from 'node:crypto';

export type PublishedKey = webcrypto.JsonWebKey & { readonly kid: string };

export interface PublishedKeySet {
  readonly keys: readonly PublishedKey[];
  readonly maxAgeSeconds: number;
}

/** Keys are fetched again when they expire within this time. */
const EXPIRY_DELTA_MS = 30_000;

/**
 * Verifies ES256 tokens by the rule of go-oidc v2 (RemoteKeySet), which kube-apiserver uses: with the cached keys
 * first, whatever their age. If none verifies the token, and the cached keys have expired, they are fetched again.
 */
export class RemoteKeySet {
  readonly #fetchKeys: () => PublishedKeySet;
  readonly #now: () => number;
  #keys: PublishedKeySet['keys'] = [];
  #expiry = Number.NEGATIVE_INFINITY;
  fetches = 0;

  constructor(fetchKeys: () => PublishedKeySet, now: () => number) {
    this.#fetchKeys = fetchKeys;
    this.#now = now;
  }

  verifies(token: string): boolean {
    if (this.#isVerifiedBy(token)) return true;
    if (this.#now() + EXPIRY_DELTA_MS <= this.#expiry) return false;
    const { keys, maxAgeSeconds } = this.#fetchKeys();
    this.fetches++;
    this.#keys = keys;
    this.#expiry = this.#now() + maxAgeSeconds * 1000;
    return this.#isVerifiedBy(token);
  }

  #isVerifiedBy(token: string): boolean {
    const [header = '', payload = '', signature = ''] = token.split('.');
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
    return this.#keys
      .filter((key) => key.kid === kid)
      .some((jwk) => {
        const key = createPublicKey({ key: jwk, format: 'jwk' });
        const data = Buffer.from(`${header}.${payload}`);
        return verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
      });
  }
}

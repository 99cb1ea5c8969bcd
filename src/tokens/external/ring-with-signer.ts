import { keyId } from '../keys/key-material.ts';
import { type KeyEntry, KeysAreExternal, type StoredKeyRing } from '../keys/key-ring.ts';
import type { ExternalSigner } from './external-signer.ts';

/** The keys of the external signer beside those that signed here before it, which only verify. */
export function ringWithSigner(ring: StoredKeyRing, signer: ExternalSigner): StoredKeyRing {
  const elsewhere = (): KeysAreExternal =>
    new KeysAreExternal('the external signer has the keys: rotate and revoke them there');
  return {
    signing: () => {
      throw elsewhere();
    },
    find: (kid) => signer.find(kid) ?? ring.find(kid),
    all: () => [...signer.keys(), ...ring.all().filter(({ kid }) => signer.find(kid) === undefined)],
    entries: () => [
      ...signer.keys().map(
        (verification): KeyEntry => ({
          kid: nameable(verification.kid) ? verification.kid : keyId(verification.publicKey),
          algorithm: verification.alg,
          state: 'external',
          created: signer.since(verification.kid),
          verification,
        }),
      ),
      ...ring.entries().filter(({ kid }) => signer.find(kid) === undefined),
    ],
    rotate: () => Promise.reject(elsewhere()),
    revoke: (kid) => (ring.find(kid) === undefined ? Promise.reject(elsewhere()) : ring.revoke(kid)),
    maintain: () => ring.maintain(),
    onChange(listener) {
      ring.onChange(listener);
      signer.onChange(listener);
    },
    async close() {
      signer.close();
      await ring.close();
    },
  };
}

/** An object is shown under the id of its key, if it could have such a name. */
const nameable = (kid: string): boolean => /^[A-Za-z0-9_-]{1,253}$/.test(kid);

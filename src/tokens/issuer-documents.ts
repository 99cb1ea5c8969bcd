import type { Issuers } from './claims.ts';
import { publicJwk } from './keys/key-material.ts';
import type { KeyRing } from './keys/key-ring.ts';
import { KEY_SET_MAX_AGE_SECONDS } from './keys/ring-state.ts';

/** The OpenID discovery document and the key set, for every cluster name, whether or not the cluster exists. */
export interface IssuerDocuments {
  /** `cluster` must be a valid cluster name. */
  configuration(cluster: string): string;
  keySet(): Uint8Array;
  readonly cacheControl: string;
}

export const keySetAddress = (issuer: string): string => `${issuer}/openid/v1/jwks`;

/** Stands for the cluster name in the template. It is not a valid cluster name. */
const PLACEHOLDER = '{cluster}';

export interface IssuerDocumentsOptions {
  readonly keyRing: Pick<KeyRing, 'all'>;
  readonly issuers: Pick<Issuers, 'issuerFor'>;
  /** Registers a listener for changes of the keys. */
  readonly onChange: (listener: () => void) => void;
}

/** Built when keys change and swapped as a whole. A request only fills in the cluster name. */
export function createIssuerDocuments({ keyRing, issuers, onChange }: IssuerDocumentsOptions): IssuerDocuments {
  const build = () => {
    const keys = keyRing.all();
    const issuer = issuers.issuerFor(PLACEHOLDER);
    // O-01: compact, in this order, and without a newline at the end.
    const configuration = JSON.stringify({
      issuer,
      jwks_uri: keySetAddress(issuer),
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...new Set(keys.map(({ alg }) => alg))].sort(),
    });
    return { configuration, keySet: Buffer.from(JSON.stringify({ keys: keys.map(publicJwk) })) };
  };
  let documents = build();
  onChange(() => {
    documents = build();
  });
  return {
    // A cluster name has no character that JSON escapes.
    configuration: (cluster) => documents.configuration.replaceAll(PLACEHOLDER, () => cluster),
    keySet: () => documents.keySet,
    cacheControl: `public, max-age=${KEY_SET_MAX_AGE_SECONDS}`,
  };
}

import type { Issuers } from './claims.ts';
import { publicJwk } from './keys/jwk.ts';
import type { KeyRing } from './keys/key-ring.ts';
import { KEY_SET_MAX_AGE_SECONDS } from './keys/ring-state.ts';

/** What verifiers read to trust our tokens: the same for every name that a cluster could have. */
export interface IssuerDocuments {
  /** The name must be one that a cluster could have. */
  configuration(cluster: string): string;
  keySet(): Uint8Array;
  readonly cacheControl: string;
}

export const keySetAddress = (issuer: string): string => `${issuer}/openid/v1/jwks`;

/** In the place of a cluster's name while the document is made. No cluster can be called so. */
const PLACE = '{cluster}';

export interface IssuerDocumentsOptions {
  readonly keyRing: Pick<KeyRing, 'all'>;
  readonly issuers: Pick<Issuers, 'issuerFor'>;
  /** Algorithms are told of the keys that there are; this is where to hear that they changed. */
  readonly onChange: (listener: () => void) => void;
}

/** Made when keys change and swapped whole; a request only puts in the name. */
export function createIssuerDocuments({ keyRing, issuers, onChange }: IssuerDocumentsOptions): IssuerDocuments {
  const build = () => {
    const keys = keyRing.all();
    const issuer = issuers.issuerFor(PLACE);
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
    // A name has no character that JSON would escape.
    configuration: (cluster) => documents.configuration.replaceAll(PLACE, () => cluster),
    keySet: () => documents.keySet,
    cacheControl: `public, max-age=${KEY_SET_MAX_AGE_SECONDS}`,
  };
}

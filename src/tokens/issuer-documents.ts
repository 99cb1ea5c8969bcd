import { PEOPLE_PATH } from '../api/pass-audience.ts';
import type { Issuers } from './claims.ts';
import { publicJwk } from './keys/key-material.ts';
import type { KeyRing } from './keys/key-ring.ts';
import { KEY_SET_MAX_AGE_SECONDS } from './keys/ring-state.ts';

/**
 * The discovery documents and the key set, of the server itself and of every cluster name, whether or not the cluster
 * exists. A cluster must be a valid name; undefined is the server.
 */
export interface IssuerDocuments {
  /** OpenID Connect Discovery. */
  configuration(cluster: string | undefined): string;
  /** OpenID Connect Discovery, of the issuer of passes for people in this cluster. */
  people(cluster: string): string;
  /** RFC 8414. */
  authorizationServer(cluster: string | undefined): string;
  keySet(): Uint8Array;
  readonly cacheControl: string;
}

const keySetAddress = (issuer: string): string => `${issuer}/openid/v1/jwks`;

/** Paths of the OAuth endpoints, below an issuer. Tokens of every cluster are revoked at the server. */
export const OAUTH_PATHS = {
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
} as const;

export const TOKEN_EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** Stands for the cluster name in the template. It is not a valid cluster name. */
const PLACEHOLDER = '{cluster}';

interface IssuerDocumentsOptions {
  readonly keyRing: Pick<KeyRing, 'all'>;
  readonly issuers: Pick<Issuers, 'issuerFor' | 'baseUrl'>;
  /** Registers a listener for changes of the keys. */
  readonly onChange: (listener: () => void) => void;
}

/** Built when keys change and swapped as a whole. A request only fills in the cluster name. */
export function createIssuerDocuments(options: IssuerDocumentsOptions): IssuerDocuments {
  const { keyRing, issuers, onChange } = options;
  const build = () => {
    const keys = keyRing.all();
    const algorithms = [...new Set(keys.map(({ alg }) => alg))].sort();
    const documentsOf = (issuer: string) => ({
      configuration: JSON.stringify(configurationOf(issuer, algorithms)),
      authorizationServer: JSON.stringify(authorizationServerOf(issuer, issuers.baseUrl)),
    });
    return {
      server: documentsOf(issuers.baseUrl),
      cluster: {
        ...documentsOf(issuers.issuerFor(PLACEHOLDER)),
        people: JSON.stringify(peopleOf(issuers.issuerFor(PLACEHOLDER), algorithms)),
      },
      keySet: Buffer.from(JSON.stringify({ keys: keys.map(publicJwk) })),
    };
  };
  let documents = build();
  onChange(() => {
    documents = build();
  });
  // A cluster name has no character that JSON escapes.
  const filled = (cluster: string, document: keyof typeof documents.cluster): string =>
    documents.cluster[document].replaceAll(PLACEHOLDER, () => cluster);
  const named = (cluster: string | undefined, document: 'configuration' | 'authorizationServer'): string =>
    cluster === undefined ? documents.server[document] : filled(cluster, document);
  return {
    configuration: (cluster) => named(cluster, 'configuration'),
    people: (cluster) => filled(cluster, 'people'),
    authorizationServer: (cluster) => named(cluster, 'authorizationServer'),
    keySet: () => documents.keySet,
    cacheControl: `public, max-age=${KEY_SET_MAX_AGE_SECONDS}`,
  };
}

/** O-01: compact, in this order, without a newline at the end. OAuth clients without RFC 8414 read it too. */
const configurationOf = (issuer: string, algorithms: readonly string[]) => ({
  issuer,
  jwks_uri: keySetAddress(issuer),
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: algorithms,
  token_endpoint: `${issuer}${OAUTH_PATHS.token}`,
  grant_types_supported: [TOKEN_EXCHANGE_GRANT],
  token_endpoint_auth_methods_supported: ['none'],
});

/** The keys are those of the cluster, and so is the token endpoint. */
const peopleOf = (clusterIssuer: string, algorithms: readonly string[]) => ({
  ...configurationOf(clusterIssuer, algorithms),
  issuer: `${clusterIssuer}${PEOPLE_PATH}`,
});

/**
 * RFC 8414 section 2. It requires `response_types_supported`, and section 3.2 omits empty lists. There is no
 * authorization endpoint, so the list is empty; it is sent, because validators require the member.
 */
const authorizationServerOf = (issuer: string, baseUrl: string) => ({
  issuer,
  token_endpoint: `${issuer}${OAUTH_PATHS.token}`,
  jwks_uri: keySetAddress(issuer),
  response_types_supported: [],
  grant_types_supported: [TOKEN_EXCHANGE_GRANT],
  token_endpoint_auth_methods_supported: ['none'],
  revocation_endpoint: `${baseUrl}${OAUTH_PATHS.revocation}`,
  introspection_endpoint: `${issuer}${OAUTH_PATHS.introspection}`,
});

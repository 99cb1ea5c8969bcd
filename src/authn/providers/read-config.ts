import { decodeBody } from '../../api/codec/decode.ts';
import { ApiError } from '../../api/status.ts';
import {
  AUTHENTICATION_CONFIGURATION,
  type AuthenticationConfiguration,
  acceptsVersion,
  type Jwt,
} from './config-schema.ts';
import { Problems } from './problems.ts';
import { type IssuerConfig, isIssuerUrl, readIssuer } from './read-issuer.ts';
import { type MappingConfig, readMappings } from './read-mappings.ts';

/** One identity provider: whose tokens, and who their bearers are. */
export interface ProviderConfig {
  readonly issuer: IssuerConfig;
  readonly mappings: MappingConfig;
  /** Equal for two providers exactly when the file says the same of them. */
  readonly fingerprint: string;
}

/** The file can not be used. The message is for the operator: every problem, each with the field it is about. */
export class AuthenticationConfigError extends Error {
  override readonly name = 'AuthenticationConfigError';
}

export interface ReadOptions {
  /** The issuers of our own tokens: a provider that could speak for them would be another signing key. */
  readonly isOurs: (url: string) => boolean;
}

/** As many as kube-apiserver takes. */
const MAX_PROVIDERS = 64;

/** Throws AuthenticationConfigError. */
export function readAuthenticationConfig(bytes: Uint8Array, { isOurs }: ReadOptions): readonly ProviderConfig[] {
  const { jwt = [], anonymous } = decode(bytes);
  const problems = new Problems();
  if (anonymous?.enabled === true) {
    problems.add('anonymous.enabled', 'there is no access without credentials here: leave it out, or set it to false');
  }
  if (jwt.length > MAX_PROVIDERS) problems.add('jwt', `must have at most ${MAX_PROVIDERS} items`);
  const seen = { url: new Set<string>(), discoveryURL: new Set<string>() };
  const providers = jwt.slice(0, MAX_PROVIDERS).map((entry, at): ProviderConfig => {
    const path = `jwt[${at}]`;
    const { issuer = {} } = entry;
    for (const field of ['url', 'discoveryURL'] as const) {
      const value = issuer[field];
      if (value === undefined || value === '') continue;
      if (seen[field].has(value)) problems.add(`${path}.issuer.${field}`, `${JSON.stringify(value)} occurs before`);
      seen[field].add(value);
    }
    if (isIssuerUrl(issuer.url) && isOurs(issuer.url)) {
      problems.add(`${path}.issuer.url`, 'is an issuer of this service itself, which verifies its own tokens');
    }
    return {
      issuer: readIssuer(issuer, problems.at(`${path}.issuer`)),
      mappings: readMappings(entry, problems.at(path)),
      fingerprint: fingerprintOf(entry),
    };
  });
  if (problems.found.length > 0) throw new AuthenticationConfigError(problems.found.join('; '));
  return providers;
}

/** The decoder gives fields in the order of the schema, whatever their order in the file. */
const fingerprintOf = (entry: Jwt): string => JSON.stringify(entry);

function decode(bytes: Uint8Array): AuthenticationConfiguration {
  try {
    // YAML, of which JSON is a part.
    const body = { bytes, mediaType: 'application/yaml' };
    return decodeBody<AuthenticationConfiguration>(body, AUTHENTICATION_CONFIGURATION, 'Strict', { acceptsVersion })
      .value;
  } catch (error) {
    if (error instanceof ApiError) throw new AuthenticationConfigError(withoutBytes(error.message));
    throw error;
  }
}

/** What can not be read at all is shown to callers by its first bytes. Whoever named the wrong file may have named a secret. */
const withoutBytes = (message: string): string =>
  message.startsWith('the object provided is unrecognized') ? message.replace(/ \([^(]*\)$/, '') : message;

import { X509Certificate } from 'node:crypto';
import { decodeBody } from '../../api/codec/decode.ts';
import { parseYaml } from '../../api/codec/parse-yaml.ts';
import type { JsonNode } from '../../api/codec/tree.ts';
import { textMember } from '../../api/codec/type-meta.ts';
import { decodeUtf8 } from '../../api/codec/utf8.ts';
import { YamlSyntaxError } from '../../api/codec/yaml-tokens.ts';
import { apiVersionOf } from '../../api/kind.ts';
import { ApiError } from '../../api/status.ts';
import {
  AUTHENTICATION_CONFIGURATION,
  type AuthenticationConfiguration,
  acceptsVersion,
  type JwtEntry,
} from './configuration-schema.ts';
import { type ClaimMappings, Problems, readClaimMappings } from './read-claim-mappings.ts';

/** An entry of `jwt`, checked. */
export interface JwtAuthenticatorConfig {
  readonly issuer: IssuerConfig;
  readonly mappings: ClaimMappings;
  /** Equal for two entries exactly when the file says the same in both. */
  readonly fingerprint: string;
}

interface IssuerConfig {
  /** Compared with `iss` byte by byte. */
  readonly url: string;
  /** The address of the discovery document. */
  readonly discoveryUrl: string;
  /** PEM. Trusted in place of the system's authorities. */
  readonly certificateAuthority: string | undefined;
  /** One of them must be in `aud`. */
  readonly audiences: readonly string[];
}

/** The file cannot be used. The message is for the operator: every problem, with its field. */
export class AuthenticationConfigError extends Error {
  override readonly name = 'AuthenticationConfigError';
}

export interface ReadOptions {
  /** Issuers of this server's own tokens: an authenticator for one of them would accept another signing key. */
  readonly isOurs: (url: string) => boolean;
}

/** As many as kube-apiserver takes. */
const MAX_AUTHENTICATORS = 64;

/** Throws AuthenticationConfigError. */
export function readAuthenticationConfig(
  bytes: Uint8Array,
  { isOurs }: ReadOptions,
): readonly JwtAuthenticatorConfig[] {
  const { jwt = [], anonymous } = decode(bytes);
  const problems = new Problems();
  if (anonymous?.enabled === true) {
    problems.add('anonymous.enabled', 'anonymous requests are not supported: omit the field, or set it to false');
  }
  if (jwt.length > MAX_AUTHENTICATORS) problems.add('jwt', `must have at most ${MAX_AUTHENTICATORS} items`);
  const seen = { url: new Set<string>(), discoveryURL: new Set<string>() };
  const configs = jwt.slice(0, MAX_AUTHENTICATORS).map((entry, at): JwtAuthenticatorConfig => {
    const path = `jwt[${at}]`;
    const { issuer = {} } = entry;
    for (const field of ['url', 'discoveryURL'] as const) {
      const value = issuer[field];
      if (value === undefined || value === '') continue;
      if (seen[field].has(value)) problems.add(`${path}.issuer.${field}`, `duplicate value: ${JSON.stringify(value)}`);
      seen[field].add(value);
    }
    if (issuer.url !== undefined && issuer.url !== '' && isOurs(issuer.url)) {
      problems.add(
        `${path}.issuer.url`,
        'is an issuer of this server, which verifies its own tokens without configuration',
      );
    }
    return {
      issuer: readIssuer(issuer, problems.at(`${path}.issuer`)),
      mappings: readClaimMappings(entry, problems.at(path)),
      fingerprint: fingerprintOf(entry),
    };
  });
  if (problems.found.length > 0) throw new AuthenticationConfigError(problems.found.join('; '));
  return configs;
}

/** The decoder emits fields in the order of the schema, so their order in the file does not matter. */
const fingerprintOf = (entry: JwtEntry): string => JSON.stringify(entry);

const { kind: KIND } = AUTHENTICATION_CONFIGURATION;
const API_VERSION = apiVersionOf(AUTHENTICATION_CONFIGURATION);
const EXPECTED = `expected YAML with apiVersion: ${API_VERSION} and kind: ${KIND}, as for kube-apiserver`;

/**
 * A file that is no AuthenticationConfiguration is not quoted: the operator may have named one with a secret. As for
 * kube-apiserver it must have a kind, unless it is empty: that withdraws all issuers (A1).
 */
function decode(bytes: Uint8Array): AuthenticationConfiguration {
  const root = rootOf(bytes);
  if (root === null) return {};
  const version = textMember(root, 'apiVersion');
  const isOne = textMember(root, 'kind') === KIND && (version === API_VERSION || acceptsVersion(version));
  if (!isOne) throw new AuthenticationConfigError(`apiVersion or kind is missing, or another one: ${EXPECTED}`);
  try {
    // JSON is a subset of YAML.
    const body = { bytes, mediaType: 'application/yaml' };
    const options = { acceptsVersion, quotesBody: false };
    return decodeBody<AuthenticationConfiguration>(body, AUTHENTICATION_CONFIGURATION, 'Strict', options).value;
  } catch (error) {
    if (error instanceof ApiError) throw new AuthenticationConfigError(error.message);
    throw error;
  }
}

function rootOf(bytes: Uint8Array): JsonNode {
  try {
    return parseYaml(decodeUtf8(bytes)).root;
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof YamlSyntaxError)) throw error;
    const where = error instanceof YamlSyntaxError && error.line !== undefined ? `line ${error.line}` : 'the file';
    throw new AuthenticationConfigError(`${where} is not plain YAML without anchors, aliases and tags: ${EXPECTED}`);
  }
}

function readIssuer(issuer: NonNullable<JwtEntry['issuer']>, problems: Problems): IssuerConfig {
  const { url = '', discoveryURL = '', certificateAuthority = '', egressSelectorType = '' } = issuer;
  if (url === '') problems.add('url', 'required: the issuer, exactly as in the `iss` claim of its tokens');
  else checkUrl(url, 'url', problems);
  if (discoveryURL !== '') {
    checkUrl(discoveryURL, 'discoveryURL', problems);
    if (withoutSlashes(url) === withoutSlashes(discoveryURL)) {
      problems.add('discoveryURL', 'must differ from url: it is the address of the discovery document');
    }
  }
  if (certificateAuthority !== '') checkAuthorities(certificateAuthority, problems);
  if (egressSelectorType !== '')
    problems.add('egressSelectorType', 'egress selectors are not supported: omit the field');
  return {
    url,
    discoveryUrl: discoveryURL === '' ? `${url.replace(/\/$/, '')}/.well-known/openid-configuration` : discoveryURL,
    certificateAuthority: certificateAuthority === '' ? undefined : certificateAuthority,
    audiences: readAudiences(issuer, problems),
  };
}

const withoutSlashes = (url: string): string => url.replace(/\/+$/, '');

function checkUrl(text: string, field: string, problems: Problems): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) problems.add(field, 'must be a URL such as https://id.example.com');
  else if (url.protocol !== 'https:') problems.add(field, 'must be an https URL');
  else if (url.username !== '' || url.password !== '') problems.add(field, 'must not contain a user or a password');
  else if (/[?#]/.test(text)) problems.add(field, 'must not have a query or a fragment');
}

function checkAuthorities(pem: string, problems: Problems): void {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    if (blocks.length === 0) throw new Error('none');
    for (const block of blocks) new X509Certificate(block);
  } catch {
    problems.add('certificateAuthority', 'must be certificates in PEM: their text, not a file name');
  }
}

function readAudiences(issuer: NonNullable<JwtEntry['issuer']>, problems: Problems): readonly string[] {
  const { audiences = [], audienceMatchPolicy = '' } = issuer;
  if (audiences.length === 0) problems.add('audiences', 'required: at least one, usually the client id');
  for (const [at, audience] of audiences.entries()) {
    if (audience === '') problems.add(`audiences[${at}]`, 'must not be empty');
    else if (audiences.indexOf(audience) < at) problems.add(`audiences[${at}]`, 'duplicate value');
  }
  if (audiences.length > 1 && audienceMatchPolicy !== 'MatchAny') {
    problems.add('audienceMatchPolicy', 'must be MatchAny when there are several audiences');
  } else if (!['', 'MatchAny'].includes(audienceMatchPolicy)) {
    problems.add('audienceMatchPolicy', 'must be MatchAny, or omitted');
  }
  return audiences;
}

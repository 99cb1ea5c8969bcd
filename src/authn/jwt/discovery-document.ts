import { isJsonObject, type JsonObject } from '../../lib/json.ts';

/** OpenID Connect Discovery 4.3: the document must name the issuer that was asked. */
export function readDiscovery(document: unknown, issuerUrl: string): JsonObject {
  if (!isJsonObject(document)) throw new Error('its discovery document is not a JSON object');
  const { issuer } = document;
  if (issuer !== issuerUrl) {
    throw new Error(`its discovery document is of another issuer, ${JSON.stringify(issuer)?.slice(0, 200)}`);
  }
  return document;
}

/** The parser takes 300 ms for a megabyte of a host that is not ASCII. */
const MAX_URL_LENGTH = 2_048;
const isUrl = (text: unknown): text is string =>
  typeof text === 'string' && text.length <= MAX_URL_LENGTH && URL.canParse(text);

export function jwksUriOf({ jwks_uri: uri }: JsonObject): string {
  if (!isUrl(uri)) throw new Error('its discovery document has no jwks_uri');
  // An attacker who could replace the keys in transit could sign any token.
  if (new URL(uri).protocol !== 'https:') throw new Error('its jwks_uri is not an https URL');
  return uri;
}

/** The characters that are safe in a Content-Security-Policy: a host in a URL may have others, such as `;`. */
const ORIGIN = /^https:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** The origin of an https address; undefined for anything else. */
export function webOrigin(address: unknown): string | undefined {
  if (!isUrl(address)) return undefined;
  const { origin } = new URL(address);
  return ORIGIN.test(origin) ? origin : undefined;
}

/** The origins at which a page obtains, refreshes and revokes tokens (OpenID Connect Discovery 3). */
export function tokenOrigins({ token_endpoint: token, revocation_endpoint: revocation }: JsonObject): string[] {
  const origins = [token, revocation].map(webOrigin).filter((origin) => origin !== undefined);
  return [...new Set(origins)];
}

import { isJsonObject, type JsonObject, parsedJson } from '../../lib/json.ts';

interface FetchDocumentOptions {
  /** PEM. Trusted in place of the system's authorities, not beside them. */
  readonly certificateAuthority?: string | undefined;
  readonly userAgent: string;
}

/** Larger than any discovery document or key set, and parsed quickly. */
const MAX_BYTES = 256 * 1024;

/** kube-apiserver has its key set as `application/jwk-set+json` only, and answers 406 without this type. */
const ACCEPT = 'application/json, application/jwk-set+json';

/**
 * Fetches small JSON documents. Redirects are not followed, so that documents come from the configured address only.
 * Connections are not reused: a document is fetched every few minutes.
 */
export function createFetchDocument({
  certificateAuthority,
  userAgent,
}: FetchDocumentOptions): (url: string, signal: AbortSignal) => Promise<unknown> {
  const connect = certificateAuthority === undefined ? {} : { ca: certificateAuthority };
  const agentOptions = { connect, maxResponseSize: MAX_BYTES, pipelining: 0 };
  return async (url, signal) => {
    // Most servers fetch nothing, and this module takes a twentieth of a start.
    const { Agent, request } = await import('undici');
    const dispatcher = new Agent(agentOptions);
    try {
      const { statusCode, body } = await request(url, {
        dispatcher,
        signal,
        headers: { accept: ACCEPT, 'user-agent': userAgent },
      });
      if (statusCode !== 200) throw new Error(`answered with ${statusCode}`);
      const document = parsedJson(await body.text());
      if (document === undefined) throw new Error('answered with something that is not JSON');
      return document;
    } catch (error) {
      throw new Error(`${url}: ${problemOf(error)}`, { cause: error });
    } finally {
      void dispatcher.destroy().catch(() => {});
    }
  };
}

function problemOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return 'did not answer in time';
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return `answered with more than ${MAX_BYTES} bytes`;
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

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

import { utf8Text } from '../lib/text.ts';
import { Secret } from '../observability/secret.ts';

/** Longer than any client sends, and about Node's limit for all headers of a request. */
export const MAX_BEARER_LENGTH = 16 * 1024;

/** The form of nearly every client, which needs no decoding. */
const PLAIN = /^Bearer [\x21-\x7e]+$/;
const EXTRA_SPACE = 'the provided Authorization header contains extra space before the bearer token, and is ignored';

/**
 * The token in an `Authorization` header; undefined when it holds no credentials (A-03, W-08). No other part of a
 * request is read: RFC 9700 section 4.3.2 forbids tokens in the query.
 */
export function bearerToken(authorization: string | undefined, warn: (text: string) => void): Secret | undefined {
  if (authorization === undefined || authorization.length > MAX_BEARER_LENGTH) return undefined;
  if (PLAIN.test(authorization)) return new Secret(authorization.slice('Bearer '.length));
  const [scheme, token, rest] = authorization.trim().split(' ', 3);
  if (scheme?.toLowerCase() !== 'bearer' || token === undefined) return undefined;
  if (token === '') {
    if (rest !== undefined) warn(EXTRA_SPACE);
    return undefined;
  }
  const text = decodeHeaderText(token);
  return text === undefined ? undefined : new Secret(text);
}

/** Node decodes header bytes as Latin-1; token files are UTF-8. Undefined for bytes that are not UTF-8. */
function decodeHeaderText(latin1: string): string | undefined {
  const bytes = Buffer.from(latin1, 'latin1');
  return bytes.toString('latin1') === latin1 ? utf8Text(bytes) : undefined;
}

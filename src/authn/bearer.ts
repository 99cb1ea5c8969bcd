import { Secret } from '../observability/secret.ts';

/** More than any client sends, and about what Node accepts as the whole of a request's headers. */
export const MAX_TOKEN_LENGTH = 16 * 1024;

/** As nearly every client sends it: nothing in it has to be decoded. */
const PLAIN = /^Bearer [\x21-\x7e]+$/;
const EXTRA_SPACE = 'the provided Authorization header contains extra space before the bearer token, and is ignored';

/**
 * The token in an `Authorization` header, or undefined when there are no credentials in it (A-03, W-08). Only this
 * header counts: RFC 9700 section 4.3.2 rules out tokens in the query.
 */
export function bearerToken(authorization: string | undefined, warn: (text: string) => void): Secret | undefined {
  if (authorization === undefined || authorization.length > MAX_TOKEN_LENGTH) return undefined;
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

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Node hands over header bytes as Latin-1; token files are UTF-8. What is not UTF-8 matches nothing. */
function decodeHeaderText(latin1: string): string | undefined {
  const bytes = Buffer.from(latin1, 'latin1');
  if (bytes.toString('latin1') !== latin1) return undefined;
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

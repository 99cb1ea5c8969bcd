import { looksLikeToken, MIN_TOKEN_LENGTH, REDACTED, unescaped } from '../../lib/text.ts';

/**
 * Removes tokens from a path or a name. People do send a token as a name, as in `kubectl delete issuedtoken TOKEN`, and
 * it must not be recorded. A segment is redacted when it looks like a token, or when it holds the credential of the
 * request itself.
 */
export function withoutTokens(text: string, credential: string | undefined): string {
  // Nearly every text is cheap to clear: it has no capitals, no escapes, and not the credential.
  if (!/[A-Z%]/.test(text) && (credential === undefined || !text.includes(credential))) return text;
  if (text.length < MIN_TOKEN_LENGTH && (credential === undefined || text.length < credential.length)) return text;
  return text
    .split('/')
    .map((part) => (isSecret(part, credential) || isSecret(unescaped(part) ?? '', credential) ? REDACTED : part))
    .join('/');
}

const isSecret = (part: string, credential: string | undefined): boolean =>
  (credential !== undefined && part.includes(credential)) || looksLikeToken(part);

/** The credential of a request; undefined when it is too short to be distinguished from a name. */
export function credentialOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const text = authorization.slice(authorization.indexOf(' ') + 1).trim();
  return text.length < 8 ? undefined : text;
}

const PRODUCT = /^[A-Za-z][A-Za-z.-]{0,31}\/v?\d{1,5}(?:\.\d{1,6}){0,3}(?:[-+][0-9A-Za-z.]{1,16})?(?= |$)/;

/** Program and version, as in `kubectl/v1.36.4`. The rest is free text, into which a user may have pasted anything. */
export const productOf = (userAgent: string | undefined): string => PRODUCT.exec(userAgent ?? '')?.[0] ?? '';

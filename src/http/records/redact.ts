/** How every JWT begins. */
const TOKEN_START = 'eyJ';
/** Shorter than any token: what is shorter is a name. */
const MIN_TOKEN_LENGTH = 32;
const REDACTED = '<redacted>';

/**
 * Somebody will take a token for a name, as in `kubectl delete issuedtoken TOKEN`; then it must not be kept. A part of
 * a path is left out when it is long and looks like a JWT or like something made at random (capitals, small letters and
 * digits, where names in Kubernetes have no capitals), or when it holds the very credential the request came with.
 */
export function withoutTokens(text: string, credential: string | undefined): string {
  // Nearly every text: one in which neither of these can be.
  if (!/[A-Z%]/.test(text) && (credential === undefined || !text.includes(credential))) return text;
  if (text.length < MIN_TOKEN_LENGTH && (credential === undefined || text.length < credential.length)) return text;
  return text
    .split('/')
    .map((part) => (isSecret(part, credential) || isSecret(decoded(part), credential) ? REDACTED : part))
    .join('/');
}

/** Whether the text may hold the credential, written out or encoded. */
export const mayHold = (text: string, credential: string | undefined): boolean =>
  credential !== undefined && credential.length <= text.length && (text.includes('%') || text.includes(credential));

const isSecret = (part: string, credential: string | undefined): boolean =>
  (credential !== undefined && part.includes(credential)) ||
  (part.length >= MIN_TOKEN_LENGTH &&
    (part.includes(TOKEN_START) || (/[A-Z]/.test(part) && /[a-z]/.test(part) && /\d/.test(part))));

function decoded(part: string): string {
  if (!part.includes('%')) return '';
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

/** What the request came with, as far as it could be taken for a secret: no shorter than a token may be. */
export function credentialOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const text = authorization.slice(authorization.indexOf(' ') + 1).trim();
  return text.length < 8 ? undefined : text;
}

const PRODUCT = /^[A-Za-z][A-Za-z.-]{0,31}\/v?\d{1,5}(?:\.\d{1,6}){0,3}(?:[-+][0-9A-Za-z.]{1,16})?(?= |$)/;

/** Program and version, as in `kubectl/v1.36.4`. The rest is free text, where anything may have been pasted. */
export const productOf = (userAgent: string | undefined): string => PRODUCT.exec(userAgent ?? '')?.[0] ?? '';

/** How every JWT begins. */
const JWT_START = 'eyJ';
/** No token is shorter. */
export const MIN_TOKEN_LENGTH = 32;

/**
 * Whether a word is long and looks like a JWT or like random characters: capitals, small letters and digits. Names in
 * Kubernetes have no capitals, and neither have UUIDs.
 */
export const looksLikeToken = (word: string): boolean =>
  word.length >= MIN_TOKEN_LENGTH &&
  (word.includes(JWT_START) || (/[A-Z]/.test(word) && /[a-z]/.test(word) && /\d/.test(word)));

export const REDACTED = '<redacted>';

/** The characters of tokens (RFC 6750 section 2.1). */
const WORD = /[A-Za-z0-9\-._~+/=]{32,}/g;

/** Text of another server without the words that look like a token. */
export const withoutTokenWords = (text: string): string =>
  text.replace(WORD, (word) => (looksLikeToken(word) ? REDACTED : word));

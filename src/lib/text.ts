/** Text from other people and programs, for messages, records and screens: bounded, on one line, visible, no tokens. */

/** The first `max` code units. A surrogate pair that is cut in two becomes U+FFFD, as it would when it is encoded. */
export const truncate = (text: string, max: number): string => text.slice(0, max).toWellFormed();

/** At most `max` code units; text that was truncated ends with three dots. */
export const clip = (text: string, max = 256): string => (text.length <= max ? text : `${truncate(text, max - 3)}...`);

/** The first `max` code points, whole. A text of megabytes is not split. */
export function truncateRunes(text: string, max: number): string {
  if (text.length <= max) return text;
  const runes = [...text.slice(0, 2 * max)];
  return runes.length <= max && text.length <= 2 * max ? text : runes.slice(0, max).join('');
}

/** Whether a text has control characters: they end lines and headers, and move cursors. */
export const hasControl = (text: string): boolean => CONTROL.test(text);

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is found
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Control and format characters and line separators become spaces: they hide text, or look like a new paragraph. */
export const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();

/** One short line for people and models, without words that look like a token. */
export const cleanText = (text: string, max = 256): string =>
  clip(withoutTokenWords(oneLine(text.slice(0, 4 * max))), max);

/**
 * Go's `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space; no other space, no control
 * or format character. The tables are those of the running Node, whose Unicode version may be newer than Go's. False
 * for more than one code point and for lone surrogates.
 */
export function isPrint(rune: string): boolean {
  // Not at the top of the module: the sets of characters take 2 ms, which every start would wait for.
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(rune);
}

/**
 * Replaces unprintable characters with `?`. Labels and conditions are written by other users, and control characters
 * in them could move the cursor, change colours or hide text.
 */
export const terminalSafe = (text: string): string => [...text].map((rune) => (isPrint(rune) ? rune : '?')).join('');

/** `terminalSafe` for several lines. Further lines are indented, so that none looks like another message. */
export const terminalSafeLines = (text: string): string => text.split('\n').map(terminalSafe).join('\n  ');

/**
 * The name of a user, with characters that cannot be seen by their code. Identity providers choose the names, and
 * Kubernetes accepts these characters: two users may look the same, or a name be read backwards.
 */
export const visibleName = (name: string): string =>
  name.replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (rune) => `[${unicodeNotation(rune.codePointAt(0) ?? 0)}]`);

/** `U+000A`, as Go's `%U` writes a code point. */
export const unicodeNotation = (codePoint: number): string =>
  `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;

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

/** Text without the words that look like a token. */
export const withoutTokenWords = (text: string): string =>
  text.replace(WORD, (word) => (looksLikeToken(word) ? REDACTED : word));

/** JSON does not escape these, but terminals and line readers act on them (C1 controls, U+2028, U+2029). */
const UNSAFE = /[\u007f-\u009f\u2028\u2029]/g;

/** What looks like a JWT or a bearer header. */
const JWT = /eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)*/g;
const BEARER = /(bearer\s+)[\w\-.~+/=]{8,}/gi;

/**
 * A line of JSON as it may be written: nothing in it ends a line or moves a cursor, and no token is in it. The last net
 * under "never log a token".
 */
export const safeLine = (line: string): string =>
  (isPlainAscii(line) ? line : escapeUnsafe(line)).replace(JWT, REDACTED).replace(BEARER, `$1${REDACTED}`);

const escapeUnsafe = (line: string): string =>
  line.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Nearly every line is, and this test takes a tenth of the time of the expression. In ASCII only DEL is unsafe. */
const isPlainAscii = (line: string): boolean => Buffer.byteLength(line) === line.length && !line.includes('\u007f');

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Undefined for bytes that are not UTF-8: to replace them would make another text. A byte order mark stays. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The text behind percent-escapes; undefined if one is broken, or not UTF-8. */
export function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** `1 second`, `2 seconds`: a count with its noun. */
export const quantity = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** Quotes a word for the shell, in commands that people copy. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

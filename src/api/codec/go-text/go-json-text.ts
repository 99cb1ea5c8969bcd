/** JSON as Go's encoding/json writes it (F-12): characters that are special in HTML or JavaScript are escaped. */

const SPECIAL = /[<>&\u2028\u2029]/;
/** JSON.stringify writes `\ud` only for lone surrogates. The first alternative skips escaped backslashes. */
const LONE_SURROGATE = /\\(?:\\|ud[89a-f][0-9a-f]{2})/g;

/** Takes serialized JSON: these characters occur only inside of strings. */
export function goEscape(json: string): string {
  const escaped = SPECIAL.test(json) ? escapeBytes(Buffer.from(json)) : json;
  if (!escaped.includes('\\ud')) return escaped;
  return escaped.replace(LONE_SURROGATE, (match) => (match === '\\\\' ? match : '\\ufffd'));
}

const LESS = 0x3c;
const GREATER = 0x3e;
const AMPERSAND = 0x26;
/** U+2028 and U+2029 are E2 80 A8 and E2 80 A9 in UTF-8. */
const E2 = 0xe2;
const ZERO = 0x30;
const TWO = 0x32;
/** `\u` and four digits. */
const ESCAPE_BYTES = 6;

/**
 * Byte by byte: a body of three megabytes may consist of these characters, and `replace` takes a second for it. The
 * text has no lone surrogates, which UTF-8 could not hold: JSON.stringify escapes them.
 */
function escapeBytes(bytes: Uint8Array): string {
  let specials = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === LESS || byte === GREATER || byte === AMPERSAND || byte === E2) specials += 1;
  }
  const escaped = Buffer.allocUnsafe(bytes.length + specials * (ESCAPE_BYTES - 1));
  let to = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    const isAscii = byte === LESS || byte === GREATER || byte === AMPERSAND;
    if (!isAscii && !(byte === E2 && isSeparatorAt(bytes, at))) {
      escaped[to++] = byte;
      continue;
    }
    // The last two digits: 3c, 3e or 26 of the byte itself, 28 or 29 of a separator.
    const low = isAscii ? byte : (bytes[at + 2] as number) - 0x80;
    escaped[to] = 0x5c;
    escaped[to + 1] = 0x75;
    escaped[to + 2] = isAscii ? ZERO : TWO;
    escaped[to + 3] = ZERO;
    escaped[to + 4] = ZERO + (low >> 4);
    escaped[to + 5] = hexDigit(low & 0xf);
    to += ESCAPE_BYTES;
    if (!isAscii) at += 2;
  }
  return escaped.toString('utf8', 0, to);
}

const isSeparatorAt = (bytes: Uint8Array, at: number): boolean =>
  bytes[at + 1] === 0x80 && (bytes[at + 2] === 0xa8 || bytes[at + 2] === 0xa9);

/** In lower case. */
const hexDigit = (value: number): number => (value < 10 ? ZERO + value : 0x57 + value);

/** Nearly every string: printable ASCII of which JSON escapes nothing. */
const PLAIN = /^[ !#-%'-;=?-[\]-~]*$/;

/** A string as a JSON literal. */
export const goString = (text: string): string => (PLAIN.test(text) ? `"${text}"` : goEscape(JSON.stringify(text)));

const BELOW_SURROGATES = /^[\0-\ud7ff]*$/;

/**
 * Sorts in place, in the order of Go's sorted maps: by UTF-8 bytes, which is by code point. The native order, by UTF-16
 * code units, differs for astral characters only.
 */
export const sortByBytes = (texts: string[]): string[] =>
  texts.every((text) => BELOW_SURROGATES.test(text)) ? texts.sort() : texts.sort(compareBytes);

export const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

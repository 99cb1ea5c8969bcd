import { clip, isPrint, unicodeNotation } from '../../../lib/text.ts';

/** Go's letter escapes; every other unprintable character is written in hexadecimal. */
const LETTER_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

/** Fast path: nearly all quoted text is a name. */
const NEEDS_NO_ESCAPE = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** Longer text is truncated in messages. */
const MAX_QUOTED = 1024;

/**
 * Go's `strconv.Quote`, which `%q` prints in messages (F-07). Long text is truncated: a request with a megabyte must
 * not get a response with four.
 */
export function goQuote(whole: string): string {
  const text = clip(whole, MAX_QUOTED);
  if (NEEDS_NO_ESCAPE.test(text)) return `"${text}"`;
  let quoted = '"';
  for (const rune of text) quoted += LETTER_ESCAPES.get(rune) ?? (isPrint(rune) ? rune : hexEscape(rune));
  return `${quoted}"`;
}

function hexEscape(rune: string): string {
  const codePoint = rune.codePointAt(0) ?? 0;
  if (codePoint < 0x20 || codePoint === 0x7f) return `\\x${hex(codePoint, 2)}`;
  // A lone surrogate is no character: Go's strings, which are UTF-8, cannot hold one.
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return '\\ufffd';
  return codePoint < 0x1_0000 ? `\\u${hex(codePoint, 4)}` : `\\U${hex(codePoint, 8)}`;
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

/** one message for each character that is not printable; positions count UTF-8 bytes. */
export function printableErrors(text: string): string[] {
  const errors: string[] = [];
  let position = 0;
  for (const rune of text) {
    if (!isPrint(rune)) {
      errors.push(`invalid character ${unicodeNotation(rune.codePointAt(0) ?? 0)} (at position ${position})`);
    }
    position += Buffer.byteLength(rune);
  }
  return errors;
}

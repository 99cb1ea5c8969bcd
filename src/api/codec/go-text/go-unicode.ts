/**
 * Go's `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space; no other space, no control
 * or format character. The tables are those of the running Node, whose Unicode version may be newer than Go's. False
 * for more than one code point and for lone surrogates.
 */
export function isPrint(rune: string): boolean {
  // Not at the top of the module: the sets of characters take 2 ms, which every start would wait for.
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(rune);
}

/** `U+000A`, as Go's `%U` writes a code point. */
export function unicodeNotation(codePoint: number): string {
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** one message for each character that is not printable; positions count UTF-8 bytes. */
export function printableErrors(text: string): string[] {
  const errors: string[] = [];
  let position = 0;
  for (const rune of text) {
    const codePoint = rune.codePointAt(0) ?? 0;
    if (!isPrint(rune)) errors.push(`invalid character ${unicodeNotation(codePoint)} (at position ${position})`);
    position += utf8Length(codePoint);
  }
  return errors;
}

function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x1_0000 ? 3 : 4;
}

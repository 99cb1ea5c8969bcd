import { isPrint, unicodeNotation } from '../../../lib/text.ts';

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

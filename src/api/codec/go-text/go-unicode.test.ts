import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { printableErrors } from './go-unicode.ts';

describe('printableErrors', () => {
  it('Q-05: names each character and its position in bytes', () => {
    expect(printableErrors('a\nb')).toEqual(['invalid character U+000A (at position 1)']);
    expect(printableErrors('é中😀\t\u{e0001}')).toEqual([
      'invalid character U+0009 (at position 9)',
      'invalid character U+E0001 (at position 10)',
    ]);
  });

  it('is empty for printable ASCII', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => printableErrors(text).length === 0));
  });

  it('counts bytes as UTF-8 does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(printableErrors(`${text}\n`).at(-1)).toBe(
          `invalid character U+000A (at position ${Buffer.byteLength(text)})`,
        );
      }),
    );
  });
});

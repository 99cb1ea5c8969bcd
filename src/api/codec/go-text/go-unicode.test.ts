import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPrint, printableErrors, unicodeNotation } from './go-unicode.ts';

describe('isPrint', () => {
  it.each(['a', 'Z', '0', ' ', '~', 'é', 'ß', '中', '€', '😀', '\u0301', '\ufffd'])('Q-05: %j is printable', (rune) => {
    expect(isPrint(rune)).toBe(true);
  });

  it.each([
    '\n',
    '\t',
    '\0',
    '\x7f',
    '\u0085',
    '\u00a0',
    '\u00ad',
    '\u2003',
    '\u200b',
    '\u2028',
    '\u3000',
    '\ufeff',
    '\ue000',
    '\u{e0001}',
    '\ud800',
  ])('Q-05: %j is not', (rune) => {
    expect(isPrint(rune)).toBe(false);
  });

  it('is false for anything but one character', () => {
    expect(isPrint('')).toBe(false);
    expect(isPrint('ab')).toBe(false);
  });
});

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

it('unicodeNotation pads to four digits', () => {
  expect(unicodeNotation(0)).toBe('U+0000');
  expect(unicodeNotation(0x10ffff)).toBe('U+10FFFF');
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../../lib/any-character.fixture.ts';
import { goQuote, printableErrors } from './go-quote.ts';

describe('goQuote', () => {
  it.each([
    ['', '""'],
    ['abc', '"abc"'],
    ["it's", `"it's"`],
    ['say "hi"', '"say \\"hi\\""'],
    ['back\\slash', '"back\\\\slash"'],
    ['\u0007\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
    ['\0\x01\x1f\x7f', '"\\x00\\x01\\x1f\\x7f"'],
    ['\u0080\u00a0\u00ad', '"\\u0080\\u00a0\\u00ad"'],
    ['\u200b\u2028\ufeff', '"\\u200b\\u2028\\ufeff"'],
    ['\u{e0001}\u{10ffff}', '"\\U000e0001\\U0010ffff"'],
    ['é中😀', '"é中😀"'],
    ['\ufffd', '"\ufffd"'],
    ['a\ud800b\udc00', '"a\\ufffdb\\ufffd"'],
    ['<&>', '"<&>"'],
  ])('F-07: %j is quoted as Go does', (text, quoted) => {
    expect(goQuote(text)).toBe(quoted);
  });

  it('can be read back', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const json = goQuote(text)
          .replaceAll(/\\\\|\\a|\\v|\\x([0-9a-f]{2})|\\U([0-9a-f]{8})/g, (all, byte, long) => {
            if (all === '\\\\') return all;
            if (all === '\\a') return '\\u0007';
            if (all === '\\v') return '\\u000b';
            return byte === undefined ? String.fromCodePoint(Number.parseInt(long, 16)) : `\\u00${byte}`;
          })
          .replaceAll('\u2028', '\\u2028');
        expect(JSON.parse(json)).toBe(text);
      }),
    );
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

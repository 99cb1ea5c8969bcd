import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuTimeOf, TEST_LIMIT_MS } from '../../lib/cpu-time.fixture.ts';
import { decodeUtf8, EncodingError, wellFormed } from './utf8.ts';

const problemOf = (bytes: Uint8Array): string => {
  try {
    decodeUtf8(bytes);
  } catch (error) {
    if (error instanceof EncodingError) return error.message;
    throw error;
  }
  throw new Error('it was decoded');
};

describe('decodeUtf8', () => {
  test('text is decoded as it is, with its byte order mark', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(decodeUtf8(Buffer.from(text))).toBe(text);
      }),
    );
    expect(decodeUtf8(Buffer.from('\ufeffa'))).toBe('\ufeffa');
  });

  test.each([
    ['ff', 0, 'ff'],
    ['61ff', 1, 'ff'],
    ['61c3', 1, 'c3'],
    ['e282', 0, 'e2'],
    ['80', 0, '80'],
    ['eda080', 0, 'ed'],
    ['c080', 0, 'c0'],
    ['f4908080', 0, 'f4'],
  ])('C-B, F-12: %s is refused', (hex, at, byte) => {
    expect(problemOf(Buffer.from(hex, 'hex'))).toBe(`byte ${at} (0x${byte}) is not UTF-8`);
  });

  test('F-12: the first invalid byte is named, wherever it is', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 }).map((value) => Buffer.from(value));
    fc.assert(
      fc.property(text, fc.constantFrom(0xff, 0x80, 0xc0, 0xfe), text, (before, byte, after) => {
        expect(problemOf(Buffer.concat([before, Uint8Array.of(byte), after]))).toMatch(`byte ${before.length} (`);
      }),
    );
  });

  test.each([0, 1_500_000, 2_999_999])('A19: three megabytes with a fault at %j', (at) => {
    const bytes = Buffer.alloc(3_000_000, 'a');
    bytes[at] = 0xff;
    expect(cpuTimeOf(() => void problemOf(bytes))).toBeLessThan(TEST_LIMIT_MS);
    expect(problemOf(bytes)).toBe(`byte ${at} (0xff) is not UTF-8`);
  });
});

describe('wellFormed', () => {
  test('a surrogate without its other half is refused', () => {
    expect(wellFormed('a\u{1f600}')).toBe('a\u{1f600}');
    expect(() => wellFormed('a\ud83d\ude00\udc01')).toThrow('\\udc01 is half of a surrogate pair');
  });
});

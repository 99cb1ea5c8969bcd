import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeUtf8, wellFormed } from './utf8.ts';

test('text is decoded as it is, with its byte order mark', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(decodeUtf8(Buffer.from(text))).toBe(text);
    }),
  );
  expect(decodeUtf8(Buffer.from('\ufeffa'))).toBe('\ufeffa');
});

test.each(['ff', '61ff', '61c3', 'e282', '80', 'eda080', 'c080', 'f4908080'])('C-B, F-12: %s is refused', (hex) => {
  expect(() => decodeUtf8(Buffer.from(hex, 'hex'))).toThrow('the body of the request is not UTF-8');
});

test('F-12: a surrogate without its other half is refused', () => {
  expect(wellFormed('a\u{1f600}')).toBe('a\u{1f600}');
  expect(() => wellFormed('a\ud83d\ude00\udc01')).toThrow('half of a surrogate pair');
});

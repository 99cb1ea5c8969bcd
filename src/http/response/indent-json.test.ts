import fc from 'fast-check';
import { expect, test } from 'vitest';
import { indentJson } from './indent-json.ts';

test('F-13: as JSON.stringify would, for any value', () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const value: unknown = JSON.parse(json);
      const compact = Buffer.from(JSON.stringify(value));
      expect(indentJson(compact)).toBe(JSON.stringify(value, null, 2));
      // Blanks in the input make no difference.
      expect(indentJson(JSON.stringify(value, null, 3))).toBe(JSON.stringify(value, null, 2));
    }),
  );
});

test('numbers, escapes and the order of keys keep their bytes', () => {
  const json = '{"b":12345678901234567890,"10":"\\u003c\\"{[,:","9":1.0}';
  expect(indentJson(json)).toBe('{\n  "b": 12345678901234567890,\n  "10": "\\u003c\\"{[,:",\n  "9": 1.0\n}');
});

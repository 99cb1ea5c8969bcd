import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RequestQuery } from './query.ts';

test('answers as a URLSearchParams does, in which a question mark has no meaning', () => {
  const word = fc.constantFrom(
    'a',
    'b',
    'limit',
    '__proto__',
    '%61',
    '+',
    '%zz',
    '%3D',
    '%c3%a9',
    '%ff',
    '?a',
    '\u00e9',
    '',
  );
  const search = fc
    .array(fc.tuple(word, fc.constantFrom('=', '', '=='), word))
    .map((terms) => terms.map((term) => term.join('')).join('&'));
  fc.assert(
    fc.property(search, (text) => {
      const query = new RequestQuery(text);
      const plain = new URLSearchParams(`&${text}`);
      expect(query.size).toBe(plain.size);
      for (const name of [
        'a',
        'b',
        'limit',
        '__proto__',
        ' ',
        '=',
        '?a',
        '?',
        '%zz',
        '\ufffd',
        '\u00e9',
        '',
        'toString',
      ]) {
        expect(query.get(name)).toBe(plain.get(name));
        expect(query.getAll(name)).toEqual(plain.getAll(name));
        expect(query.has(name)).toBe(plain.has(name));
      }
    }),
  );
});

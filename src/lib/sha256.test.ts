import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sha256 } from './sha256.ts';

/** Of one to four bytes. */
const LETTERS = fc.constantFrom('a', 'é', '€', '😀');

it('has the digests that OpenSSL has, at every length of the last block', () => {
  for (let length = 0; length <= 130; length++) {
    const text = 'a'.repeat(length);
    expect(sha256(text)).toBe(hash('sha256', text));
  }
  fc.assert(fc.property(fc.string({ unit: LETTERS, maxLength: 100 }), (text) => sha256(text) === hash('sha256', text)));
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../lib/any-character.fixture.ts';
import { validateSpec, withoutDuplicates } from './validate-token-request.ts';

const fieldsOf = (spec: Parameters<typeof validateSpec>[0]): string[] =>
  validateSpec(spec, () => undefined).map(({ field }) => field);

describe('decision 2, T-29: audiences', () => {
  test('must be there, but may be null or empty', () => {
    expect(fieldsOf(undefined)).toEqual(['spec.audiences']);
    expect(fieldsOf({})).toEqual(['spec.audiences']);
    expect(fieldsOf({ audiences: null })).toEqual([]);
    expect(fieldsOf({ audiences: [] })).toEqual([]);
  });

  test('are counted after copies are folded', () => {
    const many = Array.from({ length: 32 }, (_, index) => String(index));
    expect(fieldsOf({ audiences: [...many, ...many] })).toEqual([]);
    expect(fieldsOf({ audiences: [...many, 'one more'] })).toEqual(['spec.audiences']);
    expect(withoutDuplicates(['b', 'a', 'b'])).toEqual(['b', 'a']);
  });

  test('are named by their index in the request', () => {
    expect(fieldsOf({ audiences: ['a', 'a', '', 'b\n'] })).toEqual(['spec.audiences[2]', 'spec.audiences[3]']);
  });

  test.each([
    ['x'.repeat(1024), true],
    ['x'.repeat(1025), false],
    ['\u{1f600}'.repeat(1024), true],
    ['\u{1f600}'.repeat(1025), false],
    ['x'.repeat(3_000_000), false],
  ])('1,024 characters are the limit, however many bytes they are (%#)', (audience, fits) => {
    expect(fieldsOf({ audiences: [audience] })).toEqual(fits ? [] : ['spec.audiences[0]']);
  });

  test('whatever is wrong, the value shown is short and never cuts a character in half', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (text) => {
        const [error] = validateSpec({ audiences: [`${text}\0`] }, () => undefined);
        const shown = String(error?.value);
        expect(shown.isWellFormed()).toBe(text.isWellFormed());
        expect([...shown].length).toBeLessThanOrEqual(67);
        expect(`${text}\0`.startsWith(shown.replace(/\.\.\.$/, ''))).toBe(true);
      }),
    );
  });
});

describe('lifetime', () => {
  test.each([
    [undefined, true],
    [599, false],
    [600, true],
    [2 ** 32, true],
    [2 ** 32 + 1, false],
    [0, false],
    [-600, false],
  ])('T-14, T-15, T-26: %s', (expirationSeconds, fits) => {
    const spec = { audiences: [], ...(expirationSeconds === undefined ? {} : { expirationSeconds }) };
    expect(fieldsOf(spec)).toEqual(fits ? [] : ['spec.expirationSeconds']);
  });
});

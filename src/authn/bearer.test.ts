import { describe, expect, test } from 'vitest';
import { bearerToken } from './bearer.ts';

function read(authorization: string | undefined): { token: string | undefined; warnings: string[] } {
  const warnings: string[] = [];
  return { token: bearerToken(authorization, (text) => warnings.push(text))?.reveal(), warnings };
}

describe('A-03: credentials', () => {
  test.each([
    ['Bearer tok', 'tok'],
    ['bEaReR tok', 'tok'],
    ['bearer tok', 'tok'],
    ['  Bearer tok  ', 'tok'],
    ['Bearer tok and more', 'tok'],
    ['Bearer a.b.c', 'a.b.c'],
  ])('%j', (header, token) => {
    expect(read(header)).toEqual({ token, warnings: [] });
  });

  test('a token beyond ASCII arrives as Latin-1 and is meant as UTF-8', () => {
    expect(read(`Bearer ${Buffer.from('schlüssel').toString('latin1')}`).token).toBe('schlüssel');
  });
});

describe('C-C: no credentials', () => {
  test.each([
    undefined,
    '',
    ' ',
    'Bearer',
    'Bearer ',
    'Basic YWRtaW46YWRtaW4=',
    'Bearertok',
    'Bearer\ttok',
    'tok',
    'Token tok',
    `Bearer ${'a'.repeat(20_000)}`,
    'Bearer sch\xfcssel',
    'Bearer \u0161\u0101',
  ])('%j', (header) => {
    expect(read(header)).toEqual({ token: undefined, warnings: [] });
  });

  test.each(['Bearer  tok', 'Bearer   tok', 'bearer  tok'])('W-08: %j is ignored, with a warning', (header) => {
    expect(read(header)).toEqual({
      token: undefined,
      warnings: ['the provided Authorization header contains extra space before the bearer token, and is ignored'],
    });
  });
});

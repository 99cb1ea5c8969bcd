import { describe, expect, it } from 'vitest';
import { cpuTimeOf, TEST_LIMIT_MS } from '../../lib/cpu-time.fixture.ts';
import { repeatsCredential } from './repeats-credential.ts';

const CREDENTIAL = 'canary-0123456789.ABCdef_~+/==';
const escaped = (text: string): string =>
  [...text].map((sign) => `\\u00${sign.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');
const found = (text: string, credential = CREDENTIAL): boolean => repeatsCredential(Buffer.from(text), credential);

describe('C-I: a credential in an answer is found', () => {
  it.each([
    ['as it is', `x ${CREDENTIAL} y`],
    ['with escapes', JSON.stringify({ message: '' }).replace('""', `"${escaped(CREDENTIAL)}"`)],
    ['with some escapes', `{"message":"${CREDENTIAL.replace('0', '\\u0030').replaceAll('/', '\\/')}"}`],
    ['after an escaped backslash', `"\\\\${escaped(CREDENTIAL)}"`],
    [
      'in the claims of a token',
      `{"token":"e30.${Buffer.from(JSON.stringify({ jti: CREDENTIAL })).toString('base64url')}.c2ln"}`,
    ],
    [
      'with escapes in the claims of a token',
      `{"token":"e30.${Buffer.from(`{"jti":"${escaped(CREDENTIAL)}"}`).toString('base64url')}.c2ln"}`,
    ],
    [
      'in a token with escapes',
      `{"token":"${escaped(`e30.${Buffer.from(JSON.stringify({ jti: CREDENTIAL })).toString('base64url')}.c2ln`)}"}`,
    ],
    ['in base64', Buffer.from(`Bearer ${CREDENTIAL}`).toString('base64')],
  ])('%s', (_, text) => {
    expect(found(text)).toBe(true);
  });

  it.each(['', '{}', 'canary', escaped('canary'), `\\${escaped('canary-0123456789')}`, CREDENTIAL.toUpperCase()])(
    'and no other text is: %j',
    (text) => {
      expect(found(text)).toBe(false);
    },
  );

  it('a short one is compared as it is only', () => {
    expect(found('abcd', 'abcd')).toBe(true);
    expect(found(Buffer.from('x abcd y z x y z').toString('base64'), 'abcd')).toBe(false);
  });

  it.each([
    ['escapes', '\\u0041'],
    ['backslashes', '\\'],
    ['base64', 'QUFB'],
    ['short words', 'QUFBQUFBQUFBQUFB.'],
    ['words as long as the credential', `${'QUFB'.repeat(10)}.`],
  ])('a mebibyte of %s does not stall the event loop', (_, unit) => {
    const body = Buffer.from(unit.repeat(Math.floor((1024 * 1024) / unit.length)));
    expect(cpuTimeOf(() => expect(repeatsCredential(body, CREDENTIAL)).toBe(false))).toBeLessThan(TEST_LIMIT_MS);
  });
});

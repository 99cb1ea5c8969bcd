import { describe, expect, test } from 'vitest';
import { looksLikeToken, withoutTokenWords } from './token-text.ts';

const RANDOM = 'aB3'.repeat(10);

describe('text of another server', () => {
  test.each([
    ['a JWT', `eyJ${'a'.repeat(29)}`],
    ['random characters', `${RANDOM}xy`],
    ['a JWT behind a prefix', `prefix-eyJ${'a'.repeat(30)}`],
  ])('%s of 32 characters or more is redacted, and the words around it stay', (_, token) => {
    expect(withoutTokenWords(`cannot read "${token}", nor ${token}`)).toBe('cannot read "<redacted>", nor <redacted>');
  });

  test.each([
    ['31 characters', `${RANDOM}x`],
    ['a name without capitals', `${'pod-7f9c'.repeat(5)}`],
    ['a UUID', '0f3a5a3e-2d4b-4c62-9c1c-6f1f6a0f7a11'],
    ['capitals only', 'A1'.repeat(20)],
    ['no digits', 'MutatingAdmissionWebhookConfigurationList'],
  ])('%s is no token', (_, word) => {
    expect(looksLikeToken(word)).toBe(false);
    expect(withoutTokenWords(`about ${word}`)).toBe(`about ${word}`);
  });
});

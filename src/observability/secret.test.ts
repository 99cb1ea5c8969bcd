import { hash } from 'node:crypto';
import { format, inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Secret } from './secret.ts';

const CANARY = 'canary-3f9a';

test('A8: no way of printing a secret shows it', () => {
  const secret = new Secret(CANARY);
  const printed = [
    `${secret}`,
    String(secret),
    `token ${secret}`,
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ deep: [{ secret }] }, { depth: null, showHidden: true }),
    format('%s %o %j %O', secret, secret, secret, secret),
    JSON.stringify(Object.entries(secret)),
    JSON.stringify({ ...secret }),
    JSON.stringify(Object.getOwnPropertyDescriptors(secret)),
    new Error(`failed with ${secret}`).stack ?? '',
  ];
  for (const text of printed) expect(text).not.toContain(CANARY);
  expect(printed[0]).toBe('<redacted>');
  expect(printed[3]).toBe('{"secret":"<redacted>"}');
});

test('A24: equal texts have one digest, and it says nothing of them', () => {
  const digest = new Secret(CANARY).digest();
  expect(new Secret(CANARY).digest()).toBe(digest);
  expect(new Secret(`${CANARY}x`).digest()).not.toBe(digest);
  // Keyed: a table of digests cannot be held against a list of likely texts.
  expect(digest).not.toBe(hash('sha256', CANARY, 'base64'));
});

test('the text is returned by `reveal` only', () => {
  expect(new Secret(CANARY).reveal()).toBe(CANARY);
});

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

test('the text is there for whoever asks by name', () => {
  expect(new Secret(CANARY).reveal()).toBe(CANARY);
});

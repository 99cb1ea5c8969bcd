import { describe, expect, test } from 'vitest';
import { credentialOf, productOf, withoutTokens } from './redact.ts';

describe('A8: what stands where a name should', () => {
  const random = 'Zk3vQ9_w-LmNoPqRsTuVwXyZaBcDeFgHiJkLmNoPqRs';
  const cases: [string, string][] = [
    ['/apis/x/v1/things/web-0', '/apis/x/v1/things/web-0'],
    ['/a/0a1b2c3d-0a1b-4c2d-8e3f-0a1b2c3d4e5f/b', '/a/0a1b2c3d-0a1b-4c2d-8e3f-0a1b2c3d4e5f/b'],
    [`/a/${'x'.repeat(253)}/b`, `/a/${'x'.repeat(253)}/b`],
    [`/a/eyJhbGciOiJFUzI1NiJ9.${'x'.repeat(20)}/b`, '/a/<redacted>/b'],
    [`/a/${random}/b`, '/a/<redacted>/b'],
    ['/a/token-of-jane-0123456789/b', '/a/<redacted>/b'],
    ['/a/prefix-token-of-jane-0123456789-suffix', '/a/<redacted>'],
    ['/a/%74oken-of-jane-0123456789', '/a/<redacted>'],
    ['/a/%zz-of-jane-0123456789', '/a/%zz-of-jane-0123456789'],
  ];
  test.each(cases)('%s', (path, redacted) => {
    expect(withoutTokens(path, 'token-of-jane-0123456789')).toBe(redacted);
  });

  test('without a credential only the form of a segment counts', () => {
    expect(withoutTokens('/a/token-of-jane-0123456789', undefined)).toBe('/a/token-of-jane-0123456789');
    expect(withoutTokens(`/a/${random}`, undefined)).toBe('/a/<redacted>');
  });
});

test('the credential of a request, whatever scheme it is sent with', () => {
  expect(credentialOf('Bearer token-of-jane')).toBe('token-of-jane');
  expect(credentialOf('Basic  amFuZTpzZWNyZXQ=')).toBe('amFuZTpzZWNyZXQ=');
  expect(credentialOf('token-without-scheme')).toBe('token-without-scheme');
  // Too short for a token: to leave every `a` out of every path would leave nothing.
  expect(credentialOf('Bearer a')).toBeUndefined();
  expect(credentialOf(undefined)).toBeUndefined();
});

test('A8, A10: of a user agent only the program and its version', () => {
  expect(productOf('kubectl/v1.36.4 (linux/amd64) kubernetes/abcdef')).toBe('kubectl/v1.36.4');
  expect(productOf('node-fetch')).toBe('');
  expect(productOf('curl/8.14.1')).toBe('curl/8.14.1');
  expect(productOf('my-token-Zk3vQ9')).toBe('');
  expect(productOf('curl/canary')).toBe('');
  expect(productOf('curl/8.1.canary')).toBe('');
  expect(productOf('a\n{"level":"info"}')).toBe('');
  expect(productOf(undefined)).toBe('');
});

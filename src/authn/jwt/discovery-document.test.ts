import { expect, it } from 'vitest';
import { tokenOrigins, webOrigin } from './discovery-document.ts';

it.each([
  ['https://id.example.com/token', 'https://id.example.com'],
  ['https://ID.example.com:8443/a?b#c', 'https://id.example.com:8443'],
  ['https://[::1]:9/token', 'https://[::1]:9'],
  ['https://user:secret@id.example.com/', 'https://id.example.com'],
])('the origin of %s', (address, origin) => expect(webOrigin(address)).toBe(origin));

it.each([
  'http://id.example.com/token',
  'javascript:alert(1)',
  'https://id.example.com;script-src/token',
  "https://id.example.com,'unsafe-inline'/token",
  'https://*/token',
  '/token',
  '',
  7,
  undefined,
])('%j is no origin that a policy could name', (address) => expect(webOrigin(address)).toBeUndefined());

it('returns each origin once, and no others', () => {
  const [token_endpoint, revocation_endpoint] = ['https://a.example/token', 'https://a.example/revoke'];
  expect(tokenOrigins({ token_endpoint, revocation_endpoint })).toEqual(['https://a.example']);
  expect(tokenOrigins({ token_endpoint, revocation_endpoint: 'https://b.example/' })).toEqual([
    'https://a.example',
    'https://b.example',
  ]);
  expect(tokenOrigins({ token_endpoint: ['https://a.example'], other: 'https://c.example' })).toEqual([]);
});

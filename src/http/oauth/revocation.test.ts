import { expect, it } from 'vitest';
import { ApiError } from '../../api/status.ts';
import { createIssuers } from '../../tokens/claims.ts';
import { Form } from './form.ts';
import { revocation } from './revocation.ts';

const EXPIRY = Date.parse('2026-08-01T00:00:00Z');

it.each([
  ['before its end', -1_000, 403],
  ['in the minute in which it is still accepted', 60_000, 403],
  ['when it is no longer accepted', 60_001, 200],
])('a caller who may not revoke a token is told so: %s', (_, afterMs, code) => {
  const issuers = createIssuers({ baseUrl: 'https://clusterpass.example.com', productName: 'orchestrator' });
  const claims = { iss: issuers.issuerFor('alpha'), jti: '8d1f4c1e-2f43-4a53-9d0a-6a1f0c6c2b11', exp: EXPIRY / 1000 };
  const token = ['{}', JSON.stringify(claims), 'x'].map((text) => Buffer.from(text).toString('base64url')).join('.');
  const route = revocation(
    () => issuers,
    () => EXPIRY + afterMs,
  );
  const url = { cluster: undefined, query: new URLSearchParams() };
  const { render } = route.read(new Form(Buffer.from(`token=${token}`)), url);
  const error = new ApiError(403, 'Forbidden', 'issuedtokens "a" is forbidden');
  expect(render({ type: 'status', error })).toMatchObject({ code });
});

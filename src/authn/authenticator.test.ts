import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { User } from '../api/caller.ts';
import { ApiError } from '../api/status.ts';
import { Secret } from '../observability/secret.ts';
import {
  ACCOUNT,
  API,
  b64,
  claimsOf,
  type Fixture,
  forge,
  ISSUERS,
  openFixture,
  START,
} from '../tokens/tokens.fixture.ts';
import { type Authenticator, bearerToken, createAuthenticator } from './authenticator.ts';
import { createFixedTokenAuthenticator } from './fixed-token.fixture.ts';
import { createIssuedTokenAuthenticator } from './issued-token-authenticator.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

let fixture: Fixture;
let authenticator: Authenticator;
let warnings: string[];

const user = (name: string): User => ({ name, uid: '', groups: ['system:authenticated'], extra: {} });

function openWith(fixed: readonly TokenAuthenticator[]): Authenticator {
  const issued = createIssuedTokenAuthenticator({ verifier: fixture.verifier });
  const all = [...fixed, issued];
  return createAuthenticator({
    forRequests: all,
    forReviews: all,
    forPasses: [issued],
    audienceOf: ISSUERS.issuerFor,
  });
}

beforeAll(async () => {
  fixture = await openFixture();
  authenticator = openWith([
    createFixedTokenAuthenticator(new Secret('shared'), user('from-file')),
    createFixedTokenAuthenticator(new Secret('shared'), user('never')),
    createFixedTokenAuthenticator(new Secret('second'), user('second-file')),
    createFixedTokenAuthenticator(new Secret('admin-token'), user('admin')),
    createFixedTokenAuthenticator(new Secret('demo'), user('demo')),
  ]);
});
afterAll(() => fixture.remove());
beforeEach(() => {
  warnings = [];
  fixture.clock.now = START;
});

const ask = (authorization: string | undefined) =>
  Promise.resolve(authenticator.authenticate(authorization, (text) => warnings.push(text)));

async function refusal(authorization: string | undefined): Promise<ApiError> {
  const error: unknown = await ask(authorization).catch((thrown: unknown) => thrown);
  if (!(error instanceof ApiError)) throw new Error('accepted');
  return error;
}

test('authenticators are asked in order, and the first that knows the token decides', async () => {
  expect((await ask('Bearer shared')).as(undefined).name).toBe('from-file');
  expect((await ask('Bearer second')).as(undefined).name).toBe('second-file');
  expect((await ask('Bearer admin-token')).as(undefined).name).toBe('admin');
  expect((await ask('bEaReR demo')).as(undefined).name).toBe('demo');
  expect((await ask(`Bearer ${await fixture.issue()}`)).as('alpha').name).toBe('system:serviceaccount:ci:builder');
  expect(warnings).toEqual([]);
});

test('a token that is longer than a header can be is refused wherever it was sent', async () => {
  const isKnown = async (token: Secret): Promise<[boolean, boolean]> => {
    const knowing = openWith([createFixedTokenAuthenticator(token, user('admin'))]);
    const caller = await Promise.resolve(knowing.authenticateToken(token)).catch((error: unknown) => error);
    const { authenticated } = await knowing.review(token, { cluster: undefined, audiences: [] });
    return [!(caller instanceof ApiError), authenticated];
  };
  expect(await isKnown(new Secret('a'.repeat(16 * 1024)))).toEqual([true, true]);
  expect(await isKnown(new Secret('a'.repeat(16 * 1024 + 1)))).toEqual([false, false]);
});

test('A5: a token that was accepted before is judged at each use', async () => {
  const nameOf = async (authorization: string) => (await ask(authorization)).as('alpha').name;
  const token = `Bearer ${await fixture.issue()}`;
  for (let time = 0; time < 3; time++) expect(await nameOf(token)).toBe('system:serviceaccount:ci:builder');
  fixture.world.remove('serviceaccounts', 'alpha', 'ci', ACCOUNT.name);
  await expect(nameOf(token)).rejects.toBeInstanceOf(ApiError);
  fixture.world.put('serviceaccounts', 'alpha', 'ci', ACCOUNT.name, { uid: ACCOUNT.uid });
  expect(await nameOf(token)).toBe('system:serviceaccount:ci:builder');
  fixture.clock.now = START + 24 * 3_600_000;
  await expect(nameOf(token)).rejects.toBeInstanceOf(ApiError);
});

describe('A-01: every refusal is the same 401', () => {
  const unauthorized =
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}';

  test.each([
    undefined,
    'Bearer',
    'Basic YTpi',
    'Bearer unknown',
    'Bearer a.b.c',
    'Bearer {"a":1}',
    `Bearer ${'x'.repeat(20_000)}`,
  ])('%j', async (authorization) => {
    expect(JSON.stringify((await refusal(authorization)).status)).toBe(unauthorized);
  });

  test('K-11, K-12, K-14, K-15: a token of ours that is not accepted, with the reason for the log alone', async () => {
    const good = await fixture.issue();
    const cases: readonly [string, RegExp][] = [
      [forge(fixture, { header: { alg: 'ES256', kid: 'unknown' } }), /no keys found/],
      [`${good.slice(0, good.lastIndexOf('.'))}.${b64(Buffer.alloc(64))}`, /invalid signature/],
      [forge(fixture, { payload: claimsOf({ aud: ['vault'] }) }), /token audiences/],
      [forge(fixture, { payload: claimsOf({ exp: START / 1000 - 61 }) }), /has expired/],
      [forge(fixture, { payload: claimsOf({ exp: undefined }) }), /claim exp is missing/],
    ];
    for (const [token, reason] of cases) {
      const error = await refusal(`Bearer ${token}`);
      expect(JSON.stringify(error.status)).toBe(unauthorized);
      expect(String(error.cause)).toMatch(reason);
      expect(inspect(error, { depth: null })).not.toContain(token.slice(0, 20));
    }
  });

  test('an account that is gone', async () => {
    const token = await fixture.issue();
    await ask(`Bearer ${token}`);
    fixture.world.remove('serviceaccounts', 'alpha', 'ci', ACCOUNT.name);
    expect(JSON.stringify((await refusal(`Bearer ${token}`)).status)).toBe(unauthorized);
    fixture.world.put('serviceaccounts', 'alpha', 'ci', ACCOUNT.name, { uid: ACCOUNT.uid });
  });

  test('W-08: two spaces, with a warning', async () => {
    expect(JSON.stringify((await refusal('Bearer  shared')).status)).toBe(unauthorized);
    expect(warnings).toEqual([expect.stringContaining('extra space before the bearer token')]);
  });
});

test('MC-43: for the MCP endpoint, the log does not call a valid static token unknown', async () => {
  const causeOf = (token: string): Promise<unknown> =>
    authenticator.authenticateMcp(`Bearer ${token}`, () => {}).catch((error: ApiError) => error.cause);
  for (const token of ['shared', 'admin-token', 'unknown']) {
    expect(await causeOf(token)).toBe('the token was not issued for the MCP endpoint');
  }
  const foreign = forge(fixture, { payload: claimsOf({ iss: 'https://id.example.com/x' }) });
  expect(await causeOf(foreign)).toMatch(/^invalid bearer token: no issuer of .*: https:\/\/id.example.com$/);
});

test('an unexpected error is not turned into a refusal', async () => {
  const authenticateToken = async () => {
    throw new RangeError('out of order');
  };
  const broken = openWith([{ authenticateToken }]);
  await expect(broken.review(new Secret('x'), { cluster: 'alpha', audiences: [] })).rejects.toThrow(RangeError);
  await expect(broken.authenticate('Bearer x', () => {})).rejects.toThrow(RangeError);
});

describe('a review', () => {
  const review = (token: string, audiences: readonly string[] = [], cluster: string | undefined = 'alpha') =>
    authenticator.review(new Secret(token), { cluster, audiences });
  const refused = { authenticated: false, error: 'invalid bearer token' };

  test('K-41: a caller without audiences is for the API of the cluster, and for no other audience', async () => {
    const known = { authenticated: true, user: user('demo') };
    expect(await review('demo')).toEqual({ ...known, audiences: [API] });
    expect(await review('demo', ['vault', API])).toEqual({ ...known, audiences: [API] });
    expect(await review('demo', ['vault'])).toEqual(refused);
    const atFleet = { cluster: undefined, audiences: [] };
    expect(await authenticator.review(new Secret('demo'), atFleet)).toEqual({ ...known, audiences: [] });
    expect(await authenticator.review(new Secret('demo'), { ...atFleet, audiences: [API] })).toEqual(refused);
  });

  test('a token of another cluster is unknown here, whatever else is wrong with it', async () => {
    const token = await fixture.issue({ audiences: [API, 'vault'] });
    expect(await review(token, ['vault'])).toMatchObject({ authenticated: true, audiences: ['vault'] });
    expect(await review(token, ['vault'], 'beta')).toEqual(refused);
    fixture.clock.now = START + 10_000_000;
    expect(await review(token, ['vault'])).toMatchObject({ error: 'service account token has expired' });
    expect(await review(token, ['vault'], 'beta')).toEqual(refused);
  });

  test('K-43, also for a token that is too long', async () => {
    expect(await review('unknown')).toEqual(refused);
    expect(await review(`${'x'.repeat(20_000)}.y.z`)).toEqual(refused);
  });

  test('a reason does not grow with what was asked', async () => {
    const findings = await review(
      await fixture.issue(),
      Array.from({ length: 9_000 }, (_, index) => `a-${index}`),
    );
    expect(findings).toMatchObject({ authenticated: false, error: expect.stringMatching(/^token audiences .{100}/) });
    expect(JSON.stringify(findings).length).toBeLessThan(5_000);
  });
});

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

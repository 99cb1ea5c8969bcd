import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../observability/secret.ts';
import { expiryOf } from './claims.ts';
import { TokenRejected } from './jws.ts';
import { ACCOUNT, API, claimsOf, forge, ISSUERS, JTI, openFixture, POD, SECRET, START } from './tokens.fixture.ts';

const fixture = await openFixture();
afterAll(() => fixture.remove());
beforeEach(() => {
  fixture.clock.now = START;
});

const rejection = async (token: string, audiences?: readonly string[]): Promise<string> => {
  const verify = async () => fixture.verifier.verify(new Secret(token), audiences);
  const error: unknown = await verify().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TokenRejected);
  return (error as TokenRejected).message;
};

const at = (seconds: number): void => {
  fixture.clock.now = START + seconds * 1000;
};

test('an issued token is who it was issued for', async () => {
  const node = { name: 'n1', uid: 'uid-node' };
  const verified = await fixture.accepted(await fixture.issue({ pod: POD, node, audiences: ['x', API] }));
  expect(verified).toMatchObject({
    cluster: 'alpha',
    audiences: [API],
    kid: fixture.ring.signing().kid,
  });
  expect(verified.claims).toMatchObject({
    sub: 'system:serviceaccount:ci:builder',
    jti: JTI,
    'kubernetes.io': { namespace: 'ci', serviceaccount: ACCOUNT, pod: POD, node },
  });
  expect(verified.claims['kubernetes.io']).not.toHaveProperty('secret');
});

describe('revocation', () => {
  test('is by id: another spelling of the signature does not get around it, another token is not hit', async () => {
    const token = await fixture.issue();
    // Signed again: the same claims in other bytes.
    const twin = forge(fixture);
    const other = await fixture.issue({ randomUUID: () => 'ffffffff-52a4-4f0a-9c37-3e1f0a2b4c5d' });
    expect(twin).not.toBe(token);
    const verified = await fixture.accepted(token);
    await fixture.accepted(twin);
    fixture.revoked.add(JTI);
    // K-24: the verified signature is still cached, and that makes no difference.
    expect(await rejection(token)).toBe('service account token has been revoked');
    expect(await rejection(twin)).toBe('service account token has been revoked');
    expect(fixture.verifier.isLive(verified)).toBe(false);
    await fixture.accepted(other);
    fixture.revoked.clear();
    await fixture.accepted(token);
  });
});

describe('K-10: tokens of other issuers', () => {
  test.each([
    ['nothing', ''],
    ['an opaque token', 'abcdef'],
    ['JSON', '{"a":1}'],
    ['three empty parts', '..'],
    ['a payload that is not base64url', 'e30.!!!.AA'],
    ['a payload that is not JSON', `e30.${Buffer.from('nope').toString('base64url')}.AA`],
    ['a payload that is an array', `e30.${Buffer.from('[]').toString('base64url')}.AA`],
  ])('%s', async (_name, token) => {
    expect(await fixture.verifier.verify(new Secret(token))).toBeUndefined();
  });

  test.each<[string, (token: string) => string]>([
    ['without its signature', (token) => token.slice(0, token.lastIndexOf('.'))],
    ['without its header', (token) => token.slice(token.indexOf('.'))],
    ['with a fourth part', (token) => `${token}.c2ln`],
    ['with an empty fourth part', (token) => `${token}.`],
  ])('a token of this server %s', async (_name, change) => {
    const token = forge(fixture);
    await fixture.accepted(token);
    expect(await fixture.verifier.verify(new Secret(change(token)))).toBeUndefined();
  });

  test('a token that is longer than any that is issued here, although the signature holds', async () => {
    const audience = (length: number) => forge(fixture, { payload: claimsOf({ aud: [API, 'a'.repeat(length)] }) });
    await fixture.accepted(audience(175_000));
    expect(await fixture.verifier.verify(new Secret(audience(200_000)))).toBeUndefined();
  });

  test.each([
    ['another issuer', 'https://elsewhere.example/orchestrator/alpha'],
    ['a trailing slash', `${API}/`],
    ['K-26: the issuer of legacy secret tokens', 'kubernetes/serviceaccount'],
    ['a number', 7],
    ['none', undefined],
  ])('%s, although the signature holds', async (_name, iss) => {
    expect(await fixture.verifier.verify(new Secret(forge(fixture, { payload: claimsOf({ iss }) })))).toBeUndefined();
  });
});

describe('keys', () => {
  test('K-11: without kid every key is tried; an unknown kid is refused', async () => {
    await fixture.accepted(forge(fixture, { header: { alg: 'ES256' } }));
    expect(await rejection(forge(fixture, { header: { alg: 'ES256', kid: 'unknown' } }))).toBe(
      'invalid signature, no keys found',
    );
  });

  test('K-12: a changed payload is refused', async () => {
    const [header, , signature] = (await fixture.issue()).split('.');
    const payload = Buffer.from(JSON.stringify(claimsOf({ jti: 'other' }))).toString('base64url');
    expect(await rejection(`${header}.${payload}.${signature}`)).toBe('invalid signature');
  });

  test('K-13: the issuer decides the cluster, whose objects decide the rest', async () => {
    const iss = ISSUERS.issuerFor('beta');
    const token = forge(fixture, { payload: claimsOf({ iss, aud: [iss] }) });
    expect(await rejection(token)).toBe('clusters.clusterregistry.k8s.io "beta" not found');
  });
});

describe('A3, K-14: audiences', () => {
  const absent = undefined;
  const forms: readonly [string, unknown][] = [
    ['"vault"', 'vault'],
    ['["vault"]', ['vault']],
    ['[]', []],
    ['absent', absent],
    ['["api","vault"]', [API, 'vault']],
  ];
  const asked: readonly [string, readonly string[] | undefined][] = [
    ['none', undefined],
    ['api', [API]],
    ['vault', ['vault']],
  ];
  const accepted: Readonly<Record<string, readonly string[]>> = {
    '"vault" vault': ['vault'],
    '["vault"] vault': ['vault'],
    '["api","vault"] none': [API],
    '["api","vault"] api': [API],
    '["api","vault"] vault': ['vault'],
  };

  for (const [form, aud] of forms) {
    for (const [question, audiences] of asked) {
      const expected = accepted[`${form} ${question}`];
      test(`aud ${form}, asked for ${question}: ${expected ? 'accepted' : 'refused'}`, async () => {
        const token = forge(fixture, { payload: claimsOf({ aud }) });
        if (expected) expect((await fixture.accepted(token, audiences)).audiences).toEqual(expected);
        else
          expect(await rejection(token, audiences)).toMatch(
            /^token audiences \[.*\] is invalid for the target audiences/,
          );
      });
    }
  }

  test('K-14: the text, as Go quotes it', async () => {
    const token = forge(fixture, { payload: claimsOf({ aud: ['a', 'b "c"'] }) });
    expect(await rejection(token, ['x', 'y\n\u2028'])).toBe(
      'token audiences ["a" "b \\"c\\""] is invalid for the target audiences ["x" "y\\n\\u2028"]',
    );
  });

  test('an empty list of wanted audiences is the API audience', async () => {
    expect((await fixture.accepted(await fixture.issue(), [])).audiences).toEqual([API]);
  });

  test('A24: ["a","b"] and ["a,b"] never stand for each other', async () => {
    const token = await fixture.issue({ audiences: ['a', 'b'] });
    await fixture.accepted(token, ['a', 'b']);
    await rejection(token, ['a,b']);
  });

  test('the API audience of another cluster is none here', async () => {
    await rejection(await fixture.issue({ audiences: [ISSUERS.issuerFor('beta')] }));
  });
});

describe('A5, K-15: time, with 60 seconds of leeway both ways', () => {
  test.each([
    [3599, true],
    [3600, true],
    [3659, true],
    [3660, true],
    [3660.001, false],
    [3661, false],
    [1e7, false],
  ])('%d seconds after issue of a token for an hour: %s', async (seconds, ok) => {
    const token = await fixture.issue();
    at(seconds);
    if (ok) await fixture.accepted(token);
    else expect(await rejection(token)).toBe('service account token has expired');
  });

  test('expiryOf is the last moment', async () => {
    const token = await fixture.issue();
    const verified = await fixture.accepted(token);
    fixture.clock.now = expiryOf(verified.claims);
    await fixture.accepted(token);
    expect(fixture.verifier.isLive(verified)).toBe(true);
    fixture.clock.now += 1;
    await rejection(token);
    expect(fixture.verifier.isLive(verified)).toBe(false);
  });

  test.each([
    ['nbf', 60, true, ''],
    ['nbf', 61, false, 'service account token is not valid yet'],
    ['nbf', 120, false, 'service account token is not valid yet'],
    ['iat', 60, true, ''],
    ['iat', 61, false, 'service account token is issued in the future'],
    ['iat', 120, false, 'service account token is issued in the future'],
  ])('%s %d seconds ahead: %s', async (member, ahead, ok, text) => {
    const token = forge(fixture, { payload: claimsOf({ [member]: START / 1000 + ahead }) });
    if (ok) await fixture.accepted(token);
    else expect(await rejection(token)).toBe(text);
  });

  test('a clock that jumps back does not revive the answer of before', async () => {
    const token = await fixture.issue();
    await fixture.accepted(token);
    at(-61);
    expect(await rejection(token)).toMatch(/not valid yet/);
  });
});

describe('K-24, stricter: verified signatures are cached, acceptance is not', () => {
  test('one check for many uses, also for uses at the same time', async () => {
    const token = forge(fixture);
    fixture.checks.count = 0;
    await Promise.all(Array.from({ length: 20 }, () => fixture.accepted(token)));
    await fixture.accepted(token, [API]);
    at(3599);
    await fixture.accepted(token);
    expect(fixture.checks.count).toBe(1);
  });

  test('an expired token costs no further check', async () => {
    const token = forge(fixture);
    await fixture.accepted(token);
    fixture.checks.count = 0;
    at(3661);
    for (let time = 0; time < 3; time++) expect(await rejection(token)).toMatch(/expired/);
    expect(fixture.checks.count).toBe(0);
  });

  test('failures are checked each time', async () => {
    const valid = forge(fixture);
    const bad = `${valid.slice(0, valid.lastIndexOf('.'))}.${Buffer.alloc(64, 1).toString('base64url')}`;
    fixture.checks.count = 0;
    await rejection(bad);
    await rejection(bad);
    expect(fixture.checks.count).toBe(2);
  });
});

describe('unusual, and accepted', () => {
  test.each(['JWT', 'jwt'])('typ %s', async (typ) => {
    const kid = fixture.ring.signing().kid;
    await fixture.accepted(forge(fixture, { header: { alg: 'ES256', kid, typ } }));
  });

  test('the other signature (r, n-s) of the same token: it is the same credential', async () => {
    const token = await fixture.issue({ secret: SECRET });
    const cut = token.lastIndexOf('.');
    const bytes = Buffer.from(token.slice(cut + 1), 'base64url');
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const s = order - BigInt(`0x${bytes.subarray(32).toString('hex')}`);
    const twin = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]);
    const verified = await fixture.accepted(`${token.slice(0, cut)}.${twin.toString('base64url')}`);
    expect(verified.claims.jti).toBe((await fixture.accepted(token)).claims.jti);
  });
});

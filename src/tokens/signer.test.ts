import { createPublicKey } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { JWS_ALGORITHMS } from '../lib/jws-algorithms.ts';
import { buildClaims } from './claims.ts';
import { PUBLISHED_MS } from './keys/ring-state.ts';
import { assertPayload, createSigner } from './signer.ts';
import { API, type Fixture, grantOf, openFixture, openTestRing, POD, SECRET, START } from './tokens.fixture.ts';

describe.each(JWS_ALGORITHMS)('%s', (algorithm) => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await openFixture(algorithm);
  });
  afterAll(() => fixture.remove());

  test('K-01: the header is exactly alg and kid', async () => {
    const [header = ''] = (await fixture.issue()).split('.');
    expect(Buffer.from(header, 'base64url').toString()).toBe(
      `{"alg":"${algorithm}","kid":"${fixture.ring.signing().kid}"}`,
    );
  });

  test('A23: the event loop is free while a token is signed', async () => {
    const claims = buildClaims(grantOf());
    let signed = false;
    const signature = createSigner(fixture.ring)
      .sign(claims)
      .then(() => {
        signed = true;
      });
    // A signature that was computed in this tick would be there after these microtasks.
    for (let task = 0; task < 1_000; task += 1) await Promise.resolve();
    expect(signed).toBe(false);
    await signature;
  });

  test('an independent library verifies the token, with nothing but the public key', async () => {
    const token = await fixture.issue({ audiences: [API, 'vault'] });
    const pem = fixture.publicKey.export({ type: 'spki', format: 'pem' });
    const { payload, protectedHeader } = await jwtVerify(token, createPublicKey(pem), {
      algorithms: [algorithm],
      issuer: API,
      audience: 'vault',
      currentDate: new Date(START),
      requiredClaims: ['exp', 'nbf', 'iat', 'jti', 'sub'],
    });
    expect(payload).toEqual(buildClaims(grantOf({ audiences: [API, 'vault'] })));
    expect(protectedHeader).toEqual(decodeProtectedHeader(token));
  });
});

describe('algorithms by audience', () => {
  const BY_AUDIENCE = new Map([
    ['azure', 'RS256'],
    ['entra', 'RS256'],
    ['vault', 'ES384'],
  ] as const);
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await openFixture();
  });
  afterAll(() => fixture.remove());

  test('a token is signed with the algorithm of its audience, others with the default', async () => {
    const { store, clock } = fixture;
    const algorithms = ['ES256', 'RS256', 'ES384'] as const;
    const ring = await openTestRing({ store, clock, rules: { algorithms } });
    const signer = createSigner(ring, BY_AUDIENCE);
    const algorithmOf = async (...audiences: string[]): Promise<string | undefined> =>
      decodeProtectedHeader(await signer.sign(buildClaims(grantOf({ audiences })))).alg;
    onTestFinished(() => ring.close());
    // The ring existed with ES256 alone: the new keys are published first.
    expect(await algorithmOf('azure')).toBe('ES256');
    expect(signer.check(['azure'])).toEqual({
      warning: 'the first RS256 key is not published long enough: this token is signed with ES256',
    });
    clock.now += PUBLISHED_MS;
    await ring.maintain();
    expect(ring.entries().map(({ algorithm, state }) => `${algorithm} ${state}`)).toEqual(
      ['current', 'next'].flatMap((state) => algorithms.map((algorithm) => `${algorithm} ${state}`)),
    );
    expect(await algorithmOf('azure')).toBe('RS256');
    expect(await algorithmOf(API, 'azure', 'entra')).toBe('RS256');
    expect(await algorithmOf('vault')).toBe('ES384');
    expect(await algorithmOf(API, 'other')).toBe('ES256');
    expect(signer.check(['azure', 'entra', 'other'])).toEqual({});
  });

  test('audiences of two algorithms have no token', async () => {
    const signer = createSigner(fixture.ring, BY_AUDIENCE);
    const audiences = ['other', 'vault', 'azure'];
    const problem = 'a token has one signature, and "vault" takes ES384, "azure" takes RS256: request a token for each';
    expect(signer.check(audiences)).toEqual({ problem });
    await expect(signer.sign(buildClaims(grantOf({ audiences })))).rejects.toThrow(problem);
  });
});

describe('B10: a token that does not say what was granted is not released', () => {
  const claims = buildClaims(grantOf());
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await openFixture();
  });
  afterAll(() => fixture.remove());

  test.each([
    ['a lifetime that JSON cannot encode', { ...claims, exp: Number.NaN }],
    ['a subject other than the account', { ...claims, sub: 'system:serviceaccount:ci:root' }],
    ['no issuer', { ...claims, iss: '' }],
    ['a requester without a name', { ...claims, act: { iss: API, sub: '' } }],
  ])('%s', async (_name, wrong) => {
    await expect(createSigner(fixture.ring).sign(wrong)).rejects.toThrow('does not say what was granted');
  });

  describe('although its payload is well-formed', () => {
    const node = { name: 'node-1', uid: 'uid-node' };
    const before = { iss: API, sub: 'joe' };
    const granted = buildClaims(grantOf({ pod: POD, node, actor: { act: before, iss: API, sub: 'jane' } }));
    const withSecret = buildClaims(grantOf({ secret: SECRET }));
    const payloadOf = (said: object): string => Buffer.from(JSON.stringify(said)).toString('base64url');
    const inside = (changes: object) => ({ 'kubernetes.io': { ...granted['kubernetes.io'], ...changes } });

    test.each<[string, object]>([
      ['issuer', { iss: `${API}-2` }],
      ['id', { jti: 'another' }],
      ['expiry', { exp: granted.exp + 1 }],
      ['time of issue', { iat: granted.iat - 1 }],
      ['time from which it is valid', { nbf: granted.nbf - 1 }],
      ['audience', { aud: ['vault'] }],
      ['audience too many', { aud: [API, 'vault'] }],
      ['audience too few', { aud: [] }],
      ['requester', { act: { iss: API, sub: 'root', act: before } }],
      ['issuer of the requester', { act: { iss: 'https://elsewhere.example', sub: 'jane', act: before } }],
      ['requester before', { act: { iss: API, sub: 'jane', act: { iss: API, sub: 'root' } } }],
      ['number of requesters', { act: { iss: API, sub: 'jane' } }],
      ['UID of the account', inside({ serviceaccount: { name: 'builder', uid: 'another' } })],
      ['pod', inside({ pod: { ...POD, name: 'web-1' } })],
      ['UID of the pod', inside({ pod: { ...POD, uid: 'another' } })],
      ['node', inside({ node: { ...node, name: 'node-2' } })],
      ['UID of the node', inside({ node: { ...node, uid: 'another' } })],
      ['bound object', inside({ secret: SECRET })],
    ])('another %s', (_name, changes) => {
      expect(() => assertPayload(payloadOf(granted), granted)).not.toThrow();
      const payload = payloadOf({ ...granted, ...changes });
      expect(() => assertPayload(payload, granted)).toThrow('does not say what was granted');
    });

    test('no bound object', () => {
      expect(() => assertPayload(payloadOf(withSecret), withSecret)).not.toThrow();
      const payload = payloadOf(buildClaims(grantOf()));
      expect(() => assertPayload(payload, withSecret)).toThrow('does not say what was granted');
    });
  });

  test('a signature of the wrong length', async () => {
    const broken = { ...fixture.ring.signing(), sign: async () => Buffer.alloc(10).toString('base64url') };
    await expect(createSigner({ signing: () => broken }).sign(claims)).rejects.toThrow('not as long as');
  });

  test('text beyond ASCII survives', async () => {
    const audiences = [API, 'größe-日本-😀', 'lone \ud800', '__proto__', '<&>\u2028'];
    const token = await fixture.issue({ audiences });
    expect((await fixture.accepted(token, audiences)).audiences).toEqual(audiences);
  });
});

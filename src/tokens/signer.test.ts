import { createPublicKey } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildClaims } from './claims.ts';
import { ALGORITHMS } from './keys/algorithms.ts';
import { createSigner } from './signer.ts';
import { API, type Fixture, grantOf, openFixture, START } from './tokens.fixture.ts';

describe.each(ALGORITHMS)('%s', (algorithm) => {
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

describe('B10: a token that does not say what was granted is not released', () => {
  const claims = buildClaims(grantOf());
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await openFixture();
  });
  afterAll(() => fixture.remove());

  test.each([
    ['a lifetime that JSON cannot encode', { ...claims, exp: Number.NaN }],
    [
      'a member that is written otherwise than it reads',
      { ...claims, jti: { toJSON: () => 'x' } as unknown as string },
    ],
    ['a subject other than the account', { ...claims, sub: 'system:serviceaccount:ci:root' }],
    ['no issuer', { ...claims, iss: '' }],
    ['a requester without a name', { ...claims, act: { iss: API, sub: '' } }],
    [
      'a requester that reads otherwise',
      { ...claims, act: { iss: API, sub: { toJSON: () => 'x' } as unknown as string } },
    ],
  ])('%s', async (_name, wrong) => {
    await expect(createSigner(fixture.ring).sign(wrong)).rejects.toThrow('does not say what was granted');
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

import { createSecretKey, generateKeyPairSync, sign } from 'node:crypto';
import { CompactEncrypt, exportJWK, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../observability/secret.ts';
import { buildClaims } from './claims.ts';
import { TokenRejected } from './jws.ts';
import { API, b64, claimsOf, forge, grantOf, ISSUERS, openFixture, START } from './tokens.fixture.ts';
import { createVerifier } from './verifier.ts';

/** Forged, damaged and odd tokens: each must be refused, most of them although our own key signed them. */

const fixture = await openFixture();
const kid = fixture.ring.signing().kid;
afterAll(() => fixture.remove());

async function expectRefused(token: string): Promise<void> {
  const outcome = await Promise.try(() => fixture.verifier.verify(new Secret(token))).catch((error: unknown) => error);
  if (outcome !== undefined) expect(outcome).toBeInstanceOf(TokenRejected);
}

const claims = () => new SignJWT(claimsOf());
const parts = (token: string): [string, string, string] => {
  const [header = '', payload = '', signature = ''] = token.split('.');
  return [header, payload, signature];
};

test('the forger of these tests makes tokens that are accepted when nothing is wrong with them', async () => {
  await fixture.accepted(forge(fixture));
  await fixture.accepted(await claims().setProtectedHeader({ alg: 'ES256', kid }).sign(fixture.privateKey));
});

describe('A2, C-D: algorithms', () => {
  test('none', async () => {
    await expectRefused(new UnsecuredJWT(claimsOf()).encode());
  });

  test.each(['none', 'NoNe', 'NONE', ''])('alg %j with our kid, without and with a signature', async (alg) => {
    const [, payload, signature] = parts(forge(fixture));
    const header = b64(JSON.stringify({ alg, kid }));
    await expectRefused(`${header}.${payload}.`);
    await expectRefused(`${header}.${payload}.${signature}`);
    await expectRefused(forge(fixture, { header: { alg, kid } }));
  });

  test.each(['pem', 'der'] as const)('HS256 keyed with the public key as %s', async (format) => {
    const exported = Buffer.from(fixture.publicKey.export({ type: 'spki', format: format as 'pem' }));
    const token = await claims().setProtectedHeader({ alg: 'HS256', kid }).sign(createSecretKey(exported));
    await expectRefused(token);
  });

  test.each(['ES384', 'RS256', 'PS256', 'EdDSA', 'es256'])('alg %s over our own ES256 signature', async (alg) => {
    for (const header of [{ alg, kid }, { alg }]) {
      const refused = Promise.try(() => fixture.verifier.verify(new Secret(forge(fixture, { header }))));
      await expect(refused).rejects.toThrow('token algorithm does not match the key');
    }
  });

  test.each([undefined, null, 7, ['ES256'], { toString: 'ES256' }])('alg %j', async (alg) => {
    await expectRefused(forge(fixture, { header: { alg, kid } }));
  });
});

describe('A2, C-D: signatures', () => {
  test('of a key that is not ours, under our kid and under none', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await expectRefused(await claims().setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey));
    await expectRefused(await claims().setProtectedHeader({ alg: 'ES256' }).sign(privateKey));
  });

  test('r = s = 0', async () => {
    const [header, payload] = parts(forge(fixture));
    await expectRefused(`${header}.${payload}.${b64(Buffer.alloc(64))}`);
  });

  test('in DER', async () => {
    const [header, payload] = parts(forge(fixture));
    const der = sign('sha256', Buffer.from(`${header}.${payload}`), { key: fixture.privateKey, dsaEncoding: 'der' });
    await expectRefused(`${header}.${payload}.${b64(der)}`);
  });

  test('cut off, empty, or longer', async () => {
    const [header, payload, signature] = parts(forge(fixture));
    const bytes = Buffer.from(signature, 'base64url');
    await expectRefused(`${header}.${payload}.${b64(bytes.subarray(0, 63))}`);
    await expectRefused(`${header}.${payload}.`);
    await expectRefused(`${header}.${payload}`);
    await expectRefused(`${header}.${payload}.${b64(Buffer.concat([bytes, Buffer.alloc(1)]))}`);
  });
});

describe('A2, C-D: keys from elsewhere', () => {
  test('an embedded jwk, signed with its own key', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = await exportJWK(publicKey);
    await expectRefused(await claims().setProtectedHeader({ alg: 'ES256', jwk }).sign(privateKey));
    await expectRefused(await claims().setProtectedHeader({ alg: 'ES256', kid, jwk }).sign(fixture.privateKey));
  });

  test.each(['jku', 'x5u'])('%s: refused though signed by us, so nothing is ever fetched', async (member) => {
    await expectRefused(forge(fixture, { header: { alg: 'ES256', kid, [member]: 'https://127.0.0.1:1/keys' } }));
  });

  test('x5c', async () => {
    await expectRefused(forge(fixture, { header: { alg: 'ES256', kid, x5c: ['AAAA'] } }));
  });

  test.each([
    '../../etc/passwd',
    "' OR 1=1--",
    '__proto__',
    'constructor',
    '',
    'k'.repeat(1025),
    7,
    null,
    ['x'],
    { a: 1 },
  ])('kid %j', async (odd) => {
    await expectRefused(forge(fixture, { header: { alg: 'ES256', kid: odd } }));
  });
});

test('C-D: a header that is longer than any of this server is not read', async () => {
  const refused = async (length: number): Promise<void> => {
    await fixture.verifier.verify(new Secret(forge(fixture, { header: { alg: 'ES256', kid: 'k'.repeat(length) } })));
  };
  await expect(refused(1_024)).rejects.toThrow('no keys found');
  await expect(refused(2_304)).rejects.toThrow('token header is malformed');
});

describe('A2, C-D: headers that change the reading', () => {
  test.each([
    { crit: ['x'], x: 1 },
    { crit: ['exp'] },
    { b64: false, crit: ['b64'] },
    { b64: false },
    { zip: 'DEF' },
    { enc: 'A256GCM' },
    { p2c: 1e9 },
    { cty: 'JWT' },
    { typ: 'at+jwt' },
    { typ: 'dpop+jwt' },
    { typ: '' },
    { typ: 7 },
  ])('%j', async (extra) => {
    await expectRefused(forge(fixture, { header: { alg: 'ES256', kid, ...extra } }));
  });

  test('a JWE of five parts', async () => {
    const token = await new CompactEncrypt(Buffer.from(JSON.stringify(claimsOf())))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(Buffer.alloc(32, 1));
    await expectRefused(token);
  });

  test.each([
    ['an array', '["ES256"]'],
    ['null', 'null'],
    ['a string', '"ES256"'],
    ['broken JSON', '{"alg":"ES256"'],
    ['two algs', '{"alg":"none","alg":"ES256"}'],
    ['white space', '{ "alg":"ES256"}'],
    ['a prototype', '{"__proto__":{"kid":"x"},"alg":"ES256"}'],
  ])('%s', async (_name, header) => {
    await expectRefused(forge(fixture, { header }));
  });
});

describe('C-D: spellings of one token: only the canonical one is read', () => {
  const variants: Readonly<Record<string, (token: string) => string>> = {
    'padding after the header': (token) => token.replace('.', '=.'),
    'padding after the signature': (token) => `${token}==`,
    'a newline at the end': (token) => `${token}\n`,
    'a newline inside': (token) => `${token.slice(0, 200)}\n${token.slice(200)}`,
    'a newline in the signature': (token) => `${token.slice(0, -5)}\n${token.slice(-5)}`,
    'a space in front': (token) => ` ${token}`,
    'junk between letters': (token) => `${token.slice(0, 200)}*${token.slice(200)}`,
    'the other alphabet': (token) => token.replaceAll('-', '+').replaceAll('_', '/'),
    // 64 bytes end in a letter of which four bits are free.
    'stray bits at the end': (token) =>
      token.slice(0, -1) + String.fromCharCode(token.charCodeAt(token.length - 1) + 1),
    'a fourth part': (token) => `${token}.`,
    'letters beyond ASCII that fold into it': (token) => `${token.slice(0, -1)}${String.fromCodePoint(0x141)}`,
  };

  test.each(Object.entries(variants))('%s', async (_name, vary) => {
    // Signatures are random: look for one in which both alphabets differ.
    let token = forge(fixture);
    while (!/[-_]/.test(parts(token)[2])) token = forge(fixture);
    await fixture.accepted(token);
    expect(vary(token)).not.toBe(token);
    await expectRefused(vary(token));
  });
});

describe('C-D: claims, signed by us', () => {
  const kubernetes = buildClaims(grantOf())['kubernetes.io'];
  const cases: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    'exp absent': { exp: undefined },
    'exp a string': { exp: '9999999999' },
    'exp negative': { exp: -1 },
    'exp null': { exp: null },
    'iat absent': { iat: undefined },
    'nbf a string': { nbf: '0' },
    'nbf 120 s ahead': { nbf: START / 1000 + 120 },
    'iat 120 s ahead': { iat: START / 1000 + 120 },
    'aud absent': { aud: undefined },
    'aud empty': { aud: [] },
    'aud a number': { aud: 7 },
    'aud null': { aud: null },
    'aud an object': { aud: { 0: API, length: 1 } },
    'aud with a number inside': { aud: [API, 7] },
    'aud with an array inside': { aud: [[API]] },
    'jti absent': { jti: undefined },
    'iss of another service': { iss: 'https://elsewhere.example' },
    'iss with a trailing slash': { iss: `${API}/` },
    'kubernetes.io absent': { 'kubernetes.io': undefined },
    'kubernetes.io null': { 'kubernetes.io': null },
    'kubernetes.io an array': { 'kubernetes.io': [] },
    'no namespace': { 'kubernetes.io': { ...kubernetes, namespace: undefined } },
    'no account': { 'kubernetes.io': { ...kubernetes, serviceaccount: undefined } },
    'account uid missing': { 'kubernetes.io': { ...kubernetes, serviceaccount: { name: 'builder' } } },
    'account uid empty': { 'kubernetes.io': { ...kubernetes, serviceaccount: { name: 'builder', uid: '' } } },
    'pod null': { 'kubernetes.io': { ...kubernetes, pod: null } },
    'pod without uid': { 'kubernetes.io': { ...kubernetes, pod: { name: 'web-0' } } },
    'K-21: a node alone': { 'kubernetes.io': { ...kubernetes, node: { name: 'n1', uid: 'u' } } },
    'K-23, stricter: sub of another account': { sub: 'system:serviceaccount:ci:root' },
    'K-23, stricter: sub absent': { sub: undefined },
  };

  test.each(Object.entries(cases))('%s', async (_name, changes) => {
    await expectRefused(forge(fixture, { payload: claimsOf(changes) }));
  });

  const text = JSON.stringify(claimsOf());
  test.each([
    ['a claim twice', text.replace('{', '{"aud":["vault"],')],
    ['white space', text.replace('{', '{ ')],
    ['a number out of range', text.replace(/"exp":\d+/, '"exp":1e999')],
    ['a number written otherwise', text.replace(/"exp":(\d+)/, '"exp":$1.0')],
    ['a member spelled with escapes', text.replace('"aud"', '"\\u0061ud"')],
  ])('%s', async (_name, payload) => {
    expect(payload).not.toBe(text);
    await expectRefused(forge(fixture, { payload }));
  });

  test('deeply nested JSON, which anyone can send, is refused without a crash', async () => {
    const payload = text.replace('{', `{"x":${'['.repeat(90_000)}${']'.repeat(90_000)},`);
    await expectRefused(`${parts(forge(fixture, { payload })).slice(0, 2).join('.')}.AAAA`);
  });

  test('bytes that are not UTF-8', async () => {
    const input = `${b64(JSON.stringify({ alg: 'ES256', kid }))}.${b64(Buffer.from(text.replace('builder', 'build\xff'), 'latin1'))}`;
    const signature = sign('sha256', Buffer.from(input), { key: fixture.privateKey, dsaEncoding: 'ieee-p1363' });
    await expectRefused(`${input}.${b64(signature)}`);
  });

  test('a polluted prototype neither happens nor helps', async () => {
    await expectRefused(
      forge(fixture, { payload: text.replace('{', '{"__proto__":{"polluted":1},').replace(/"exp":\d+,/, '') }),
    );
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('C-D: rotation', () => {
  test('a retired key is accepted, a revoked one is not', async () => {
    const own = await openFixture();
    onTestFinished(() => own.remove());
    const token = await own.issue();
    const signedBy = own.ring.signing().kid;
    await own.ring.rotate({ force: true, dryRun: false });
    expect(own.ring.signing().kid).not.toBe(signedBy);
    expect(await own.accepted(token)).toMatchObject({ kid: signedBy });
    expect(await own.ring.revoke(signedBy)).toBe(true);
    await expect(own.accepted(token)).rejects.toThrow('invalid signature, no keys found');
  });

  test('a cached token is refused once its key leaves the ring', async () => {
    const keys = new Map(fixture.ring.all().map((key) => [key.kid, key]));
    const keyRing = { find: (id: string) => keys.get(id), all: () => [...keys.values()] };
    const { clusterOfIssuer } = ISSUERS;
    const verifier = createVerifier({
      keyRing,
      clusterOfIssuer,
      findLive: fixture.world.findLive,
      now: () => START,
    });
    const token = await fixture.issue();
    const verified = await verifier.verify(new Secret(token));
    keys.clear();
    await expect(Promise.try(() => verifier.verify(new Secret(token)))).rejects.toThrow('no keys found');
    expect(verified === undefined || verifier.isLive(verified)).toBe(false);
  });
});

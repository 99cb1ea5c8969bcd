import { createPublicKey, createSecretKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompactEncrypt, decodeJwt, exportJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectUnauthorized } from './support/expect-status.ts';
import { b64, type Forger, inSeconds as now, openForger } from './support/forger.ts';
import { inCluster, review, TOKEN } from './support/reviews.ts';
import { type Server, startServer } from './support/server.ts';
import { dataDirWithKey } from './support/signing-keys.ts';
import { codeFor, createWorld, issue } from './support/token-world.ts';

/** C-D: forged, damaged and odd tokens over the wire. Most carry a signature of the real key: the shape alone must fail. */

let server: Server;
let key: KeyObject;
let kid: string;
let claims: Forger['claims'];
let forge: Forger['forge'];
let genuine: string;
/** Somebody who would like to be asked for a key. */
let visits = 0;
const lure = createServer((_, response) => {
  visits++;
  response.end('{"keys":[]}');
});
let lureUrl: string;

beforeAll(async () => {
  const { dataDir } = await dataDirWithKey();
  server = await startServer({ dataDir });
  await createWorld(server);
  genuine = await issue(server);
  ({ key, kid, claims, forge } = await openForger(server, genuine));
  await new Promise<void>((resolve) => lure.listen(0, '127.0.0.1', resolve));
  lureUrl = `http://127.0.0.1:${(lure.address() as AddressInfo).port}/keys`;
});
afterAll(async () => {
  lure.close();
  await server.destroy();
});

const segments = (): [header: string, payload: string, signature: string] =>
  genuine.split('.') as [string, string, string];

const withSignature = (signature: Uint8Array): string => `${segments()[0]}.${segments()[1]}.${b64(signature)}`;
const kubernetes = (changes: object) => ({ ...(claims()['kubernetes.io'] as object), ...changes });
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const FORGERIES: readonly (readonly [string, () => string | Promise<string>])[] = [
  ...['none', 'NoNe', ''].flatMap((alg) => [
    [`alg ${alg || 'empty'}, no signature`, () => `${b64(JSON.stringify({ alg, kid }))}.${segments()[1]}.`] as const,
    [`alg ${alg || 'empty'}, our signature`, () => forge({ header: { alg } })] as const,
  ]),
  [
    'HS256 keyed with the public PEM',
    () => {
      const pem = createPublicKey(key).export({ type: 'spki', format: 'pem' });
      return new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid }).sign(createSecretKey(Buffer.from(pem)));
    },
  ],
  ['ES384 in the header', () => forge({ header: { alg: 'ES384' } })],
  ['r = s = 0', () => withSignature(Buffer.alloc(64))],
  [
    'a DER signature',
    () => withSignature(sign('sha256', Buffer.from(`${segments()[0]}.${segments()[1]}`), { key, dsaEncoding: 'der' })),
  ],
  ['a cut signature', () => withSignature(Buffer.from(segments()[2], 'base64url').subarray(0, 63))],
  ['an empty signature', () => withSignature(Buffer.alloc(0))],
  [
    'a signature of somebody else under our kid',
    () => new SignJWT(claims()).setProtectedHeader({ alg: 'ES256', kid }).sign(stranger.privateKey),
  ],
  [
    'an embedded jwk',
    async () => {
      const jwk = await exportJWK(stranger.publicKey);
      return new SignJWT(claims()).setProtectedHeader({ alg: 'ES256', jwk }).sign(stranger.privateKey);
    },
  ],
  ['jku', () => forge({ header: { jku: lureUrl } })],
  ['x5u', () => forge({ header: { x5u: lureUrl } })],
  ...['../../etc/passwd', "' OR 1=1--", '__proto__', 'x'.repeat(1025), ''].map(
    (odd) => [`kid ${odd.slice(0, 20)}`, () => forge({ header: { kid: odd } })] as const,
  ),
  ['crit', () => forge({ header: { crit: ['x'], x: 1 } })],
  ['b64 false', () => forge({ header: { b64: false, crit: ['b64'] } })],
  ['zip', () => forge({ header: { zip: 'DEF' } })],
  ['typ at+jwt', () => forge({ header: { typ: 'at+jwt' } })],
  ['typ dpop+jwt', () => forge({ header: { typ: 'dpop+jwt' } })],
  [
    'JWE',
    () =>
      new CompactEncrypt(Buffer.from(JSON.stringify(claims())))
        .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128GCM' })
        .encrypt(createPublicKey(key)),
  ],
  [
    'PBES2 with 1e9 rounds',
    () =>
      `${b64(JSON.stringify({ alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2c: 1e9, p2s: 'AAAA' }))}.AAAA.AAAA.AAAA.AAAA`,
  ],
  ['padding', () => `${genuine}==`],
  [
    'the other alphabet',
    () => {
      // Signatures differ each time: one that uses the two letters in which the alphabets differ comes soon.
      let token = forge();
      while (!/[-_]/.test(token)) token = forge();
      return token.replaceAll('-', '+').replaceAll('_', '/');
    },
  ],
  ['a second spelling of the last character', () => `${genuine.slice(0, -1)}${secondSpelling(genuine.at(-1) ?? '')}`],
  ['iss of another cluster', () => forge({ payload: claims({ iss: `${server.url}/orchestrator/beta` }) })],
  ['iss with a trailing slash', () => forge({ payload: claims({ iss: `${decodeJwt(genuine).iss}/` }) })],
  ['iss of nobody', () => forge({ payload: claims({ iss: 'https://elsewhere.example' }) })],
  ['no exp', () => forge({ payload: claims({ exp: undefined }) })],
  ['exp as text', () => forge({ payload: claims({ exp: String(now() + 600) }) })],
  ['exp negative', () => forge({ payload: claims({ exp: -1 }) })],
  ['exp long past', () => forge({ payload: claims({ exp: now() - 120 }) })],
  ['nbf in two minutes', () => forge({ payload: claims({ nbf: now() + 120 }) })],
  ['iat in two minutes', () => forge({ payload: claims({ iat: now() + 120 }) })],
  ['no aud', () => forge({ payload: claims({ aud: undefined }) })],
  ['aud empty', () => forge({ payload: claims({ aud: [] }) })],
  ['aud a number', () => forge({ payload: claims({ aud: 1 }) })],
  ['aud of somebody else as text', () => forge({ payload: claims({ aud: 'vault' }) })],
  [
    'no uid',
    () => forge({ payload: claims({ 'kubernetes.io': kubernetes({ serviceaccount: { name: 'builder' } }) }) }),
  ],
  [
    'another uid',
    () =>
      forge({ payload: claims({ 'kubernetes.io': kubernetes({ serviceaccount: { name: 'builder', uid: 'x' } }) }) }),
  ],
  [
    'an account that is not there',
    () =>
      forge({
        payload: claims({
          sub: 'system:serviceaccount:ci:root',
          'kubernetes.io': kubernetes({ serviceaccount: { name: 'root', uid: 'x' } }),
        }),
      }),
  ],
  ['K-23: sub and account differ', () => forge({ payload: claims({ sub: 'system:serviceaccount:ci:other' }) })],
  ['no kubernetes.io', () => forge({ payload: claims({ 'kubernetes.io': undefined }) })],
  [
    'a name with slashes',
    () => forge({ payload: claims({ 'kubernetes.io': kubernetes({ pod: { name: '../../x', uid: 'x' } }) }) }),
  ],
  ['repeated claims', () => forge({ payload: JSON.stringify(claims()).replace('{', '{"iss":"x",') })],
  ['not JSON', () => forge({ payload: 'no' })],
  ['two dots', () => '..'],
  ['four parts', () => `${genuine}.x`],
  ['a token that starts with {', () => '{"alg":"none"}'],
];

/** Base64 of 64 bytes leaves four bits of the last character unused. */
function secondSpelling(last: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return alphabet[alphabet.indexOf(last) ^ 1] ?? '';
}

const reviewed = (token: string) => review(server, inCluster(TOKEN), { spec: { token } }, server.adminToken);

/** As a bearer token, and in a review. */
async function expectAccepted(token: string): Promise<void> {
  expect(await codeFor(server, token)).toBe(200);
  expect(await reviewed(token)).toMatchObject({ authenticated: true, audiences: [decodeJwt(genuine).iss] });
}

describe('A2, C-D, K-10, K-11, K-12, K-13, K-14, K-15, K-16, K-17: every one of them is the same 401, and a review that says no', () => {
  it('the forger makes tokens that pass when nothing is wrong with them', async () => {
    await expectAccepted(genuine);
    await expectAccepted(forge());
    // K-04
    await expectAccepted(forge({ payload: claims({ aud: decodeJwt(genuine).iss }) }));
    // K-11
    await expectAccepted(forge({ header: { kid: undefined } }));
  });

  it('K-15: a minute of leeway for other clocks', async () => {
    for (const changes of [{ exp: now() - 20 }, { nbf: now() + 20 }, { iat: now() + 20 }]) {
      await expectAccepted(forge({ payload: claims(changes) }));
    }
  });

  it.each(FORGERIES)('%s', async (_, make) => {
    const token = await make();
    expectUnauthorized(await server.call('GET', '/auth/v1/clusters', { token }));
    const status = await reviewed(token);
    expect(status).toEqual({ user: {}, error: expect.stringMatching(/^.{5,300}$/) });
    expect(status.error).not.toContain(token);
  });

  it.each([
    ['inside', () => `${genuine.slice(0, 40)}\n${genuine.slice(40)}`],
    ['in the signature', () => `${genuine.slice(0, -5)}\r\n${genuine.slice(-5)}`],
    ['at the end', () => `${genuine}\n`],
  ])('a line break %s, which only a body can carry', async (_, make) => {
    expect(await reviewed(make())).toEqual({ user: {}, error: expect.stringMatching(/^.{5,300}$/) });
  });

  it('nobody was asked for a key, and the server still serves', async () => {
    expect(visits).toBe(0);
    expect(await codeFor(server, genuine)).toBe(200);
    expect(server.output.stderr).not.toContain('request failed');
  });
});

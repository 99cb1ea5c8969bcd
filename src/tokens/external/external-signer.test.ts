import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../observability/secret.ts';
import type { Store } from '../../storage/contract.ts';
import { openSqliteStore } from '../../storage/sqlite/sqlite-store.ts';
import { buildClaims } from '../claims.ts';
import { publicJwk } from '../keys/key-material.ts';
import { KeysAreExternal, type StoredKeyRing } from '../keys/key-ring.ts';
import { API, grantOf, ISSUERS, openTestRing, START, temporaryDirectory, World } from '../tokens.fixture.ts';
import { createVerifier } from '../verifier.ts';
import { type ExternalSigner, openExternalSigner, withExternalKeys } from './external-signer.ts';
import { encoded, honest, newTestKey, signed, startTestSigner, type TestSigner } from './signer.fixture.ts';
import { connectSigner, createSignerClient, MAX_LINE_BYTES, SignerFailed } from './signer-client.ts';

const KEY = newTestKey('key-1');
const OTHER = newTestKey('key-2');
const CLAIMS = buildClaims(grantOf());
const clock = { now: START };

let signer: TestSigner;
let external: ExternalSigner;

const open = (
  timeoutMs = 5_000,
  path = signer.path,
  options: Partial<Parameters<typeof openExternalSigner>[0]> = {},
): Promise<ExternalSigner> =>
  openExternalSigner({
    client: createSignerClient(
      () => connectSigner({ type: 'unix', path }),
      () => clock.now,
      timeoutMs,
    ),
    byAudience: new Map([
      ['elliptic', 'ES256'],
      ['rsa', 'RS256'],
    ]),
    now: () => clock.now,
    every: () => () => {},
    logger: { info: () => {}, error: () => {} },
    ...options,
  });

beforeAll(async () => {
  signer = await startTestSigner(join(temporaryDirectory(), 'signer.sock'), honest(KEY));
  external = await open();
});
beforeEach(() => {
  signer.respond = honest(KEY);
  // Later than any limit on how often it is asked.
  clock.now += 60_000;
});
afterAll(async () => {
  external.close();
  await signer.close();
});

test('B20: what a signer program writes to its standard error is read, however much it is', async () => {
  const lines: string[] = [];
  const program = `
    for (let i = 0; i < 10_000; i += 1) require('node:fs').writeSync(2, 'y'.repeat(99) + '\\n');
    process.stdin.pipe(process.stdout);`;
  const address = { type: 'exec', command: process.execPath, args: ['-e', program] } as const;
  const connection = await connectSigner(address, (line) => lines.push(line));
  connection.input.write('still there\n');
  expect(String((await once(connection.output, 'data'))[0])).toBe('still there\n');
  await expect.poll(() => lines.length).toBe(10_000);
  connection.close();
  await connection.closed;
});

describe('an honest signer', () => {
  test.each([
    ['alg and kid', { alg: 'ES256', kid: 'key-1' }],
    ['typ, too', { alg: 'ES256', kid: 'key-1', typ: 'JWT' }],
    ['another order', { typ: 'JWT', kid: 'key-1', alg: 'ES256' }],
  ])('A1: signs with %s, and both our verifier and another library accept it', async (_name, header) => {
    signer.respond = honest(KEY, header);
    const token = await external.sign(CLAIMS);
    const keySet = createLocalJWKSet({ keys: external.keys().map((key) => ({ ...publicJwk(key) })) });
    await jwtVerify(token, keySet, { issuer: API, currentDate: new Date(START) });
    const keyRing = { find: external.find, all: external.keys };
    const { clusterOfIssuer } = ISSUERS;
    const verifier = createVerifier({
      keyRing,
      clusterOfIssuer,
      findLive: new World().findLive,
      now: () => START,
    });
    expect(await verifier.verify(new Secret(token))).toMatchObject({ kid: 'key-1', claims: CLAIMS });
  });

  test('gets the claims and nothing else', async () => {
    signer.requests.length = 0;
    await external.sign(CLAIMS);
    expect(signer.requests).toEqual([{ id: expect.any(Number), op: 'sign', payload: encoded(CLAIMS) }]);
  });

  test('is asked for an algorithm if an audience needs one, and must have a key of it', async () => {
    signer.requests.length = 0;
    const claims = buildClaims(grantOf({ audiences: ['elliptic'] }));
    await external.sign(claims);
    expect(signer.requests).toEqual([{ id: expect.any(Number), op: 'sign', payload: encoded(claims), alg: 'ES256' }]);
    expect(external.check(['elliptic', 'other'])).toEqual({});
    expect(external.check(['rsa'])).toEqual({
      problem: 'it takes RS256, and the external signer has no key of that algorithm',
    });
    expect(external.check(['rsa', 'elliptic']).problem).toContain('request a token for each');
    await expect(external.sign(buildClaims(grantOf({ audiences: ['rsa', 'elliptic'] })))).rejects.toThrow(
      'request a token for each',
    );
    await expect(external.sign(buildClaims(grantOf({ audiences: ['rsa'] })))).rejects.toThrow(
      'the signer was asked for RS256 and signed with ES256',
    );
  });

  test('may respond to many requests in any order', async () => {
    const held: string[] = [];
    signer.respond = (request) => {
      held.unshift(`${JSON.stringify(honest(KEY)(request))}\n`);
      return held.length === 20 ? held.join('') : undefined;
    };
    const wanted = Array.from({ length: 20 }, (_, at) => buildClaims(grantOf({ randomUUID: () => `jti-${at}` })));
    const tokens = await Promise.all(wanted.map((claims) => external.sign(claims)));
    expect(tokens.map((token) => token.split('.')[1])).toEqual(wanted.map(encoded));
  });

  test('that signs with a new key is asked for its keys, once', async () => {
    signer.respond = (request) => ({
      ...(honest(OTHER)(request) as object),
      ...(request.op === 'keys' ? { keys: [KEY.published, OTHER.published] } : {}),
    });
    signer.requests.length = 0;
    let changes = 0;
    external.onChange(() => {
      changes += 1;
    });
    await Promise.all(Array.from({ length: 10 }, () => external.sign(CLAIMS)));
    expect(signer.requests.filter(({ op }) => op === 'keys').length).toBe(1);
    expect(changes).toBe(1);
    expect(external.keys().map(({ kid }) => kid)).toEqual(['key-1', 'key-2']);
    const since = clock.now;
    expect([external.since('key-1') < since, external.since('key-2')]).toEqual([true, since]);
    signer.respond = honest(KEY);
    await external.refresh();
    expect(external.find('key-2')).toBeUndefined();
  });

  test('B10: gives no token whose claims the verifier could not read', async () => {
    await expect(external.sign({ ...CLAIMS, exp: Number.NaN })).rejects.toThrow(
      'the token does not say what was granted',
    );
  });

  test('that does not respond has at most 1,000 requests pending, which all end when the server stops', async () => {
    const connect = () => connectSigner({ type: 'unix', path: signer.path });
    const client = createSignerClient(connect, () => clock.now, 600_000);
    await client.call({ op: 'keys' });
    signer.respond = () => undefined;
    signer.requests.length = 0;
    const pending = Array.from({ length: 1_000 }, () => client.call({ op: 'keys' }));
    await expect.poll(() => signer.requests.length).toBe(1_000);
    await expect(client.call({ op: 'keys' })).rejects.toThrow('more than 1000 requests to the signer are pending');
    client.close();
    const ended = await Promise.allSettled(pending);
    const reasons = ended.map((each) => (each.status === 'rejected' ? each.reason.message : 'fulfilled'));
    expect(new Set(reasons)).toEqual(new Set(['the server is stopping']));
    clock.now += 1_000;
    await expect(client.call({ op: 'keys' })).rejects.toThrow('the server is stopping');
  });
});

describe('A1: a malformed response gives no token', () => {
  const payload = encoded(CLAIMS);
  const response = (header: object | string, changes: object = {}) => {
    const text = typeof header === 'string' ? header : encoded(header);
    return { header: text, signature: signed(KEY, text, payload), ...changes };
  };
  const HEADER = { alg: 'ES256', kid: 'key-1' };
  const hmac = (header: string): string =>
    createHmac('sha256', JSON.stringify(KEY.published.jwk)).update(`${header}.${payload}`).digest('base64url');

  test.each<[string, object]>([
    [
      'alg HS256',
      { header: encoded({ ...HEADER, alg: 'HS256' }), signature: hmac(encoded({ ...HEADER, alg: 'HS256' })) },
    ],
    ['alg none', response({ ...HEADER, alg: 'none' })],
    ['alg of another kind of key', response({ ...HEADER, alg: 'RS256' })],
    ['no alg', response({ kid: 'key-1' })],
    ['an extra member in the header', response({ ...HEADER, jku: 'https://evil.example' })],
    ['typ at+jwt', response({ ...HEADER, typ: 'at+jwt' })],
    ['typ jwt', response({ ...HEADER, typ: 'jwt' })],
    ['no kid', response({ alg: 'ES256' })],
    ['an empty kid', response({ alg: 'ES256', kid: '' })],
    ['a kid of 1,025 bytes', response({ alg: 'ES256', kid: 'k'.repeat(1025) })],
    ['a kid that is not published', response({ alg: 'ES256', kid: 'key-9' })],
    ['a kid of the prototype', response({ alg: 'ES256', kid: '__proto__' })],
    ['a header with white space', response(Buffer.from('{"alg": "ES256","kid":"key-1"}').toString('base64url'))],
    [
      'a header with a duplicate',
      response(Buffer.from('{"alg":"none","alg":"ES256","kid":"key-1"}').toString('base64url')),
    ],
    ['a header with padding', response(`${encoded(HEADER)}=`)],
    ['an empty signature', response(HEADER, { signature: '' })],
    ['a short signature', response(HEADER, { signature: signed(KEY, encoded(HEADER), payload).slice(0, 40) })],
    ['a signature of another key', response(HEADER, { signature: signed(OTHER, encoded(HEADER), payload) })],
    [
      'a signature of other claims',
      response(HEADER, { signature: signed(KEY, encoded(HEADER), encoded({ sub: 'root' })) }),
    ],
    ['a signature with a newline', response(HEADER, { signature: `${signed(KEY, encoded(HEADER), payload)}\n` })],
    ['an unknown member', response(HEADER, { payload: encoded({ sub: 'root' }) })],
    ['no signature', { header: encoded(HEADER) }],
    ['numbers', { header: 1, signature: 2 }],
    ['an error', { error: 'the device is locked' }],
  ])('%s', async (_name, given) => {
    signer.respond = ({ id, op }) => (op === 'keys' ? { id, keys: [KEY.published] } : { id, ...given });
    await expect(external.sign(CLAIMS)).rejects.toThrow(SignerFailed);
  });

  test.each<[string, string]>([
    ['no JSON', 'hello\n'],
    ['a list', '[]\n'],
    ['no id', '{"header":"x"}\n'],
    ['a line without end', 'x'.repeat(MAX_LINE_BYTES + 1)],
  ])('%s closes the connection', async (_name, text) => {
    signer.respond = () => text;
    await expect(external.sign(CLAIMS)).rejects.toThrow(SignerFailed);
    clock.now += 1_000;
    signer.respond = honest(KEY);
    expect(await external.sign(CLAIMS)).toMatch(/^ey/);
  });

  test('the id of another published key', async () => {
    signer.respond = ({ id, op, payload = '' }) => {
      const header = encoded({ alg: 'ES256', kid: 'key-2' });
      if (op === 'keys') return { id, keys: [KEY.published, OTHER.published] };
      return { id, header, signature: signed(KEY, header, payload) };
    };
    await external.refresh();
    await expect(external.sign(CLAIMS)).rejects.toThrow(SignerFailed);
    signer.respond = honest(KEY);
    await external.refresh();
  });

  test('the responses of two requests, exchanged', async () => {
    const held: { id: number; text: (id: number) => string }[] = [];
    signer.respond = (request) => {
      const text = (id: number): string => `${JSON.stringify({ ...(honest(KEY)(request) as object), id })}\n`;
      held.push({ id: request.id, text });
      const [first, second] = held;
      return first === undefined || second === undefined ? undefined : first.text(second.id) + second.text(first.id);
    };
    const wanted = ['a', 'b'].map((id) => external.sign(buildClaims(grantOf({ randomUUID: () => id }))));
    const results = await Promise.allSettled(wanted);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  test('half of a response fails its request in time', async () => {
    const impatient = await open(50);
    onTestFinished(() => impatient.close());
    signer.respond = (request) => JSON.stringify(honest(KEY)(request)).slice(0, 40);
    await expect(impatient.sign(CLAIMS)).rejects.toThrow('did not respond in 50 ms');
  });

  test('a signer that does not respond in time fails the request, and a response with another id is ignored', async () => {
    const impatient = await open(50);
    onTestFinished(() => impatient.close());
    signer.respond = (request) => honest(KEY)({ ...request, id: request.id + 1_000 });
    await expect(impatient.sign(CLAIMS)).rejects.toThrow('did not respond in 50 ms');
  });
});

describe('malformed keys', () => {
  const { jwk } = KEY.published as { jwk: { x: string } };
  const rsaJwk = (bytes: number) => ({ kty: 'RSA', n: Buffer.alloc(bytes, 0xff).toString('base64url'), e: 'AQAB' });

  test.each<[string, object]>([
    ['none', { keys: [] }],
    ['no list', { keys: {} }],
    ['too many', { keys: Array.from({ length: 33 }, (_, at) => ({ ...KEY.published, kid: `k${at}` })) }],
    ['a key that is null', { keys: [null] }],
    ['two of one id', { keys: [KEY.published, { ...OTHER.published, kid: 'key-1' }] }],
    ['an unknown member', { keys: [{ ...KEY.published, use: 'sig' }] }],
    ['an unknown member of the answer', { keys: [KEY.published], more: true }],
    ['a private half', { keys: [{ ...KEY.published, jwk: KEY.privateKey.export({ format: 'jwk' }) }] }],
    ['a symmetric key', { keys: [{ ...KEY.published, jwk: { kty: 'oct', k: 'AAAA' } }] }],
    ['a type of the prototype', { keys: [{ ...KEY.published, jwk: { ...jwk, kty: 'constructor' } }] }],
    ['a type in a list', { keys: [{ ...KEY.published, jwk: { ...jwk, kty: ['EC'] } }] }],
    ['an RSA key of 8,200 bits', { keys: [{ kid: 'k', alg: 'RS256', jwk: rsaJwk(1_025) }] }],
    ['another algorithm', { keys: [{ ...KEY.published, alg: 'ES384' }] }],
    ['an algorithm of the prototype', { keys: [{ ...KEY.published, alg: 'constructor' }] }],
    ['a point that is not on the curve', { keys: [{ ...KEY.published, jwk: { ...jwk, x: 'AAAA' } }] }],
    ['a kid of 1,025 bytes', { keys: [{ ...KEY.published, kid: 'é'.repeat(513) }] }],
    ['a kid with a newline', { keys: [{ ...KEY.published, kid: 'a\nb' }] }],
  ])('%s', async (_name, given) => {
    signer.respond = ({ id }) => ({ id, ...given });
    await expect(external.refresh()).rejects.toThrow(SignerFailed);
    expect(external.keys().map(({ kid }) => kid)).toEqual(['key-1']);
    await expect(open()).rejects.toThrow(SignerFailed);
  });
});

describe('the keys of the signer and those of the ring', () => {
  let store: Store;
  let ring: StoredKeyRing;
  beforeAll(async () => {
    store = await openSqliteStore({ file: join(dirname(signer.path), 'ring.db') });
    ring = await openTestRing({ store, clock });
  });
  afterAll(async () => {
    await ring.close();
    await store.close();
  });
  const nextOf = (keys: StoredKeyRing): string => keys.entries().find(({ state }) => state === 'next')?.kid ?? '';

  test('one that has the id of a key of the ring replaces it, and a name that is no object name is not used', async () => {
    const kid = nextOf(ring);
    const [same, odd] = [newTestKey(kid), newTestKey('projects/x/keys/1')];
    signer.respond = ({ id }) => ({ id, keys: [same.published, odd.published] });
    await external.refresh();
    const both = withExternalKeys(ring, external);
    expect(both.find(kid)?.thumbprint).toBe(external.find(kid)?.thumbprint);
    expect(both.all().filter((key) => key.kid === kid)).toEqual([external.find(kid)]);
    const names = both.entries().map((entry) => entry.kid);
    expect(names).toEqual([kid, external.find('projects/x/keys/1')?.thumbprint, ring.signing().kid]);
    signer.respond = honest(KEY);
    await external.refresh();
  });

  test('those of the ring can be revoked, those of the signer cannot, and none is rotated here', async () => {
    const both = withExternalKeys(ring, external);
    await expect(both.rotate({ force: true, dryRun: false })).rejects.toThrow(KeysAreExternal);
    await expect(both.revoke('key-1')).rejects.toThrow(KeysAreExternal);
    expect(both.find('key-1')).toBeDefined();
    expect(() => both.signing()).toThrow(KeysAreExternal);
    const kid = nextOf(ring);
    expect(await both.revoke(kid)).toBe(true);
    expect(both.find(kid)).toBeUndefined();
  });
});

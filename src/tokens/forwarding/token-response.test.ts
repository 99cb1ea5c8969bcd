import { describe, expect, it } from 'vitest';
import { type ExpectedToken, readTokenResponse, UnexpectedResponse } from './token-response.ts';

const NOW = Date.UTC(2026, 7, 1);
const SECONDS = NOW / 1000;
const expected: ExpectedToken = {
  namespace: 'ci',
  serviceAccount: 'builder',
  audiences: ['a', 'b'],
  boundTo: undefined,
  expirationSeconds: 3600,
  now: NOW,
};
const KUBERNETES = { namespace: 'ci', serviceaccount: { name: 'builder', uid: 'u' } };
const CLAIMS = {
  aud: ['b', 'a'],
  exp: SECONDS + 3600,
  iat: SECONDS,
  jti: 'id',
  'kubernetes.io': KUBERNETES,
  sub: 'system:serviceaccount:ci:builder',
};

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const jwt = (claims: unknown, header: unknown = { alg: 'ES256' }, signature = 'c2ln'): string =>
  `${encode(header)}.${encode(claims)}.${signature}`;
const body = (token: unknown, kind = 'TokenRequest'): Buffer =>
  Buffer.from(JSON.stringify({ kind, status: { token } }));
const read = (claims: object, changes: Partial<ExpectedToken> = {}) =>
  readTokenResponse(body(jwt({ ...CLAIMS, ...claims })), { ...expected, ...changes });

describe('the response of a cluster', () => {
  it('is read', () => {
    expect(read({})).toEqual({
      token: jwt(CLAIMS),
      audiences: ['b', 'a'],
      issuedAt: SECONDS,
      expiresAt: SECONDS + 3600,
      accountUid: 'u',
      id: 'id',
    });
  });

  it('may have its own audience where none was asked for, as text or list', () => {
    expect(read({ aud: 'x' }, { audiences: [] }).audiences).toEqual(['x']);
    expect(read({ aud: ['x', 'y'] }, { audiences: [] }).audiences).toEqual(['x', 'y']);
    const most = Array.from({ length: 32 }, (_, index) => `a${index}`);
    expect(read({ aud: most }, { audiences: [] }).audiences).toEqual(most);
  });

  it('has the issuer of the cluster, or none', () => {
    expect(read({ iss: 'https://cluster.example' }).issuer).toBe('https://cluster.example');
    for (const iss of [7, {}, null]) expect(read({ iss }).issuer).toBeUndefined();
  });

  it('C-I: has an id that may be recorded, or none', () => {
    const uuid = '2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d';
    for (const jti of [uuid, 'id', 'a:b/c+d=e', 'a'.repeat(128)]) expect(read({ jti }).id).toBe(jti);
    const token = Buffer.from('a token of another caller').toString('base64url');
    const strange = [
      '',
      'a'.repeat(129),
      'a b',
      'a\n{"level":30}',
      'a"b',
      'a\\b',
      '\u202eid',
      '-o',
      'e\u0301',
      '<b>',
      7,
      {},
    ];
    for (const jti of [...strange, jwt(CLAIMS), `x${jwt(CLAIMS)}`, `${token}9Zz`]) {
      expect(read({ jti }).id, String(jti)).toBeUndefined();
    }
  });

  it.each(['', 'a b', 'a\nb', 'a'.repeat(129), '<uid>', 7, jwt(CLAIMS), `${encode('a token of another caller')}9Zz`])(
    'C-I: has a uid that may be shown, not %j',
    (uid) => {
      const serviceaccount = { name: 'builder', uid };
      expect(() => read({ 'kubernetes.io': { ...KUBERNETES, serviceaccount } })).toThrow(UnexpectedResponse);
    },
  );

  it.each([
    ['too many', Array.from({ length: 33 }, (_, index) => `a${index}`)],
    ['too long', ['a'.repeat(1025)]],
    ['empty', ['']],
    ['with control characters', ['a\u001b[2J']],
  ])('C-I: has audiences that may be shown where none was asked for, not %s', (_, aud) => {
    expect(() => read({ aud }, { audiences: [] })).toThrow(UnexpectedResponse);
  });

  it('may be for less, and by a clock that is a little off', () => {
    expect(read({ exp: SECONDS + 600 }).expiresAt).toBe(SECONDS + 600);
    expect(read({ iat: SECONDS + 60, exp: SECONDS + 3660 }).expiresAt).toBe(SECONDS + 3660);
  });

  it('may have claims that Go writes in its own way', () => {
    const claims = `{"aud":["a\\u0026b"], ${JSON.stringify({ ...CLAIMS, aud: undefined }).slice(1)}`;
    expect(readTokenResponse(body(jwt(claims)), { ...expected, audiences: ['a&b'] }).audiences).toEqual(['a&b']);
  });

  it('is bound to what was asked for', () => {
    const boundTo = { kind: 'Secret', name: 's', uid: 'us' };
    const bound = (secret: unknown) => () => read({ 'kubernetes.io': { ...KUBERNETES, secret } }, { boundTo });
    expect(bound({ name: 's', uid: 'us' })().id).toBe('id');
    for (const other of [undefined, { name: 's', uid: 'other' }, { name: 'other', uid: 'us' }, 's']) {
      expect(bound(other)).toThrow('not bound to the object');
    }
  });

  it.each<[string, object, Partial<ExpectedToken>?]>([
    ['another account', { sub: 'system:serviceaccount:ci:admin' }],
    ['another namespace', { sub: 'system:serviceaccount:kube-system:builder' }],
    ['a user', { sub: 'admin' }],
    ['another account', { 'kubernetes.io': { ...KUBERNETES, serviceaccount: { name: 'admin', uid: 'u' } } }],
    ['another account', { 'kubernetes.io': { ...KUBERNETES, namespace: 'kube-system' } }],
    ['no account', { 'kubernetes.io': null }],
    ['an account without identity', { 'kubernetes.io': { ...KUBERNETES, serviceaccount: { name: 'builder' } } }],
    ['a subset of the audiences', { aud: ['a'] }],
    ['more audiences', { aud: ['a', 'b', 'c'] }],
    ['an audience twice', { aud: ['a', 'a'] }],
    ['audiences that are none', { aud: ['a', 'b', 7] }],
    ['no audience', { aud: undefined }],
    ['no audience where the own one was asked for', { aud: [] }, { audiences: [] }],
    ['a year', { exp: SECONDS + 365 * 86_400 }],
    ['a little more than the leeway', { exp: SECONDS + 3661 }],
    ['the past', { iat: SECONDS - 60, exp: SECONDS }],
    ['an end that is its beginning', { iat: SECONDS + 30, exp: SECONDS + 30 }],
    ['no end', { exp: undefined }],
    ['an end in words', { exp: `${SECONDS + 3600}` }],
    ['no beginning', { iat: undefined }],
    ['a beginning in the future', { iat: SECONDS + 61 }],
  ])('is not for %s', (_, claims, changes) => {
    expect(() => read(claims, changes)).toThrow(UnexpectedResponse);
  });

  it.each([
    ['a beginning that is not finite', body(jwt(JSON.stringify(CLAIMS).replace(`"iat":${SECONDS}`, '"iat":-1e999')))],
    ['no JWT', body('token')],
    ['four parts', body(`${jwt(CLAIMS)}.x`)],
    ['another alphabet', body(`${jwt(CLAIMS)}+/`)],
    ['padding', body(`${jwt(CLAIMS)}=`)],
    ['no signature', body(jwt(CLAIMS, { alg: 'ES256' }, ''))],
    ['alg none', body(jwt(CLAIMS, { alg: 'nOnE' }))],
    ['no alg', body(jwt(CLAIMS, { typ: 'JWT' }))],
    ['an alg that is no text', body(jwt(CLAIMS, { alg: ['ES256'] }))],
    ['a shared secret', body(jwt(CLAIMS, { alg: 'HS256' }))],
    ['no header', body(jwt(CLAIMS, []))],
    ['no claims', body(jwt('text'))],
    ['another kind', body(jwt(CLAIMS), 'Secret')],
    ['no status', Buffer.from('{"kind":"TokenRequest"}')],
    ['HTML', Buffer.from('<html>')],
    ['depth', Buffer.from(`{"kind":${'['.repeat(100_000)}`)],
    ['a token in the prototype', Buffer.from(`{"kind":"TokenRequest","status":{"__proto__":{"token":"x"}}}`)],
    ['a token that is longer than any', body(jwt({ ...CLAIMS, padding: 'a'.repeat(300_000) }))],
  ])('is not %s', (_, bytes) => {
    expect(() => readTokenResponse(bytes, expected)).toThrow(UnexpectedResponse);
  });

  it('says nothing of what is in it', () => {
    try {
      read({ sub: 'canary' });
      expect.unreachable();
    } catch (error) {
      expect(String(error)).not.toContain('canary');
    }
  });
});

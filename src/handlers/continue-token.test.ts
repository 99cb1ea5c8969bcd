import { describe, expect, test } from 'vitest';
import { ApiError } from '../api/status.ts';
import { type ContinueState, createContinueTokens } from './continue-token.ts';

const key = Buffer.alloc(32, 7);
const tokens = createContinueTokens({ key });
const SCOPE = '["clusters","","","a=b","","alice"]';
const state: ContinueState = { revision: 120, after: '/registry/clusters/prod-eu' };

function refusal(token: string, scope = SCOPE): string {
  try {
    tokens.open(token, scope);
  } catch (error) {
    if (error instanceof ApiError) return `${error.status.code} ${error.status.reason} ${error.message}`;
    throw error;
  }
  return 'none';
}

const REFUSED = '400 BadRequest invalid continue token: continue key is not valid: it was not issued for this list';

describe('a sealed token can be opened', () => {
  test.each<ContinueState>([
    state,
    { revision: -1, after: 'x' },
    { revision: 1, after: '\u00e9\0"\\' },
    { revision: Number.MAX_SAFE_INTEGER, after: 'k'.repeat(600) },
  ])('%j', (one) => {
    expect(tokens.open(tokens.seal(one, SCOPE), SCOPE)).toEqual(one);
  });
});

describe('L-30: a token reveals nothing', () => {
  test('it is base64url, never the same twice, and as long for a short key as for a long one', () => {
    const made = [
      tokens.seal(state, SCOPE),
      tokens.seal(state, SCOPE),
      tokens.seal({ revision: 1, after: 'a' }, SCOPE),
    ];
    expect(new Set(made).size).toBe(3);
    for (const token of made) expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(new Set(made.map((token) => token.length)).size).toBe(1);
  });
});

describe('L-31: any other token is 400, always with the same message', () => {
  const token = tokens.seal(state, SCOPE);
  const bytes = Buffer.from(token, 'base64url');

  test('each byte counts', () => {
    for (let at = 0; at < bytes.length; at++) {
      for (const bit of [0x01, 0x80]) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ bit;
        expect(refusal(changed.toString('base64url')), `byte ${at}`).toBe(REFUSED);
      }
    }
  });

  test('each character counts: there is one spelling of a token', () => {
    const alphabet = 'AQgw09-_+/=. \n%\u00e9';
    for (let at = 0; at < token.length; at++) {
      for (const character of alphabet) {
        if (character === token[at]) continue;
        expect(refusal(token.slice(0, at) + character + token.slice(at + 1))).toBe(REFUSED);
      }
    }
    for (const suffix of ['=', '==', ' ', '\n', 'A', '.']) expect(refusal(token + suffix)).toBe(REFUSED);
  });

  test.each([
    ['empty', ''],
    ['no base64', '%%%'],
    [
      'the one of kube-apiserver',
      Buffer.from('{"v":"meta.k8s.io/v1","rv":5,"start":"a\\u0000"}').toString('base64url'),
    ],
    [
      'with a start outside of the list',
      Buffer.from('{"v":"meta.k8s.io/v1","rv":5,"start":"../x"}').toString('base64url'),
    ],
    ['with revision 0', Buffer.from('{"v":"meta.k8s.io/v1","rv":0,"start":"a"}').toString('base64url')],
    ['huge', 'A'.repeat(1_000_000)],
  ])('C-G: %s', (_, text) => {
    expect(refusal(text)).toBe(REFUSED);
  });

  test.each([
    ['another caller', '["clusters","","","a=b","","bob"]'],
    ['another selector', '["clusters","","","a=c","","alice"]'],
    ['another resource', '["pods","","","a=b","","alice"]'],
    ['no scope', ''],
  ])('of %s', (_, scope) => {
    expect(refusal(token, scope)).toBe(REFUSED);
  });

  test('from another key', () => {
    const other = createContinueTokens({ key: Buffer.alloc(32, 8) });
    expect(refusal(other.seal(state, SCOPE))).toBe(REFUSED);
  });
});

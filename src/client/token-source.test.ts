import { describe, expect, it } from 'vitest';
import { fakeTiming } from './script-server.fixture.ts';
import { createTokenSource, refreshTime } from './token-source.ts';
import type { IssuedToken } from './types.ts';

const MINUTE = 60_000;

/** A source of tokens with a lifetime of ten minutes, from a server whose clock is off by `skewMs`. */
function source({ skewMs = 0, lifetimeMs = 10 * MINUTE } = {}) {
  const timing = fakeTiming();
  let issued = 0;
  let problem: Error | undefined;
  const tokens = createTokenSource(async (): Promise<IssuedToken> => {
    await Promise.resolve();
    if (problem !== undefined) throw problem;
    const issuedAt = timing.now() + skewMs;
    const expirationTimestamp = new Date(issuedAt + lifetimeMs).toISOString();
    const tokenRequest = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' } as const;
    return { token: `token-${++issued}`, expirationTimestamp, issuedAt, warnings: [], tokenRequest };
  }, timing);
  return {
    timing,
    tokens,
    fail: (error: Error | undefined) => {
      problem = error;
    },
  };
}

describe('a token source', () => {
  it('refreshes a token before it expires', async () => {
    const { tokens, timing } = source();
    await tokens.token();
    timing.time += 8 * MINUTE - 1;
    expect(await tokens.token()).toBe('token-1');
    timing.time += 1;
    expect(await Promise.all([tokens.token(), tokens.token()])).toEqual(['token-2', 'token-2']);
  });

  it('retries a failed refresh after a delay and uses the old token until it expires', async () => {
    const { tokens, timing, fail } = source();
    await tokens.token();
    fail(new Error('down'));
    timing.time += 9 * MINUTE;
    expect(await tokens.token()).toBe('token-1');
    fail(undefined);
    expect(await tokens.token()).toBe('token-1');
    timing.time += 10_000;
    expect(await tokens.token()).toBe('token-2');
  });

  it('replaces an invalidated token and no other', async () => {
    const { tokens } = source();
    await tokens.token();
    tokens.invalidate('another');
    expect(await tokens.token()).toBe('token-1');
    tokens.invalidate('token-1');
    expect(await tokens.token()).toBe('token-2');
  });
});

it.each([
  ['a day', 86_400, 69_120],
  ['ten minutes', 600, 480],
  ['two minutes', 120, 90],
  ['less than the margin', 20, 10],
])(
  'CP-99: a token of %s is replaced at 80 percent of its lifetime, 30 seconds before its end at the latest',
  (_, seconds, at) => {
    const issued = { issuedAt: 0, expirationTimestamp: new Date(seconds * 1000).toISOString() };
    expect(refreshTime(issued, 5_000)).toBe(5_000 + at * 1000);
  },
);

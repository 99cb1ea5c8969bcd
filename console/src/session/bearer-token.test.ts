import { describe, expect, it } from 'vitest';
import { ConnectionError } from '../../../src/client/index.ts';
import { refreshedToken, staticToken } from './bearer-token.ts';
import { ProviderRejection, type ProviderTokens } from './oidc-client.ts';

const HOUR = 3_600;
const jwt = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
/** The clock of the provider is a day ahead: only the lifetime counts. */
const tokens = (name: string): ProviderTokens => ({
  idToken: jwt({ sub: name, iat: 86_400, exp: 86_400 + HOUR }),
  refreshToken: `refresh-${name}`,
});

/** Signed in at time 0. Each refresh returns or throws the next of the results. */
const start = (...results: (ProviderTokens | Error)[]) => startWith(tokens('a'), results);

function startWith(first: ProviderTokens, results: (ProviderTokens | Error)[]) {
  const used: (string | undefined)[] = [];
  const seen = { now: 0, refreshed: 0, expired: 0 };
  const token = refreshedToken({
    first,
    refresh: async ({ refreshToken }) => {
      used.push(refreshToken);
      const result = results.shift() ?? new Error('no more results');
      if (result instanceof Error) throw result;
      return result;
    },
    now: () => seen.now,
    onRefreshed: () => seen.refreshed++,
    onExpired: () => seen.expired++,
  });
  return { token, used, seen };
}

describe('a refreshed token', () => {
  const [a, b, c] = [tokens('a'), tokens('b'), tokens('c')];

  it('is refreshed when a fifth of its lifetime is left; concurrent requests use each refresh token once', async () => {
    const { token, used, seen } = start(b, c);
    seen.now = 0.79 * HOUR * 1000;
    expect(await token.get()).toBe(a.idToken);
    seen.now = 0.8 * HOUR * 1000;
    expect(await Promise.all([token.get(), token.get(), token.get()])).toEqual([b.idToken, b.idToken, b.idToken]);
    seen.now *= 2;
    expect(await token.get()).toBe(c.idToken);
    expect(used).toEqual(['refresh-a', 'refresh-b']);
    expect([seen.refreshed, seen.expired, token.refreshes]).toEqual([2, 0, true]);
  });

  it('is refreshed when the server rejects it; a second rejection ends the session', async () => {
    const { token, used } = start(b);
    expect(token.endsSession(a.idToken)).toBe(false);
    expect(await token.get(a.idToken)).toBe(b.idToken);
    // A request that was in flight with the old token.
    expect(token.endsSession(a.idToken)).toBe(false);
    expect(await token.get(a.idToken)).toBe(b.idToken);
    expect(token.endsSession(b.idToken)).toBe(true);
    expect(used).toHaveLength(1);
  });

  it('stays in use while the provider is unreachable, with a pause between attempts', async () => {
    const { token, used, seen } = start(new Error('silent'), new Error('silent'), new Error('silent'), b);
    seen.now = 3_000_000;
    expect(await token.get()).toBe(a.idToken);
    expect(await token.get()).toBe(a.idToken);
    expect(used).toHaveLength(1);
    seen.now += 10_000;
    expect(await token.get()).toBe(a.idToken);
    expect(used).toHaveLength(2);
    seen.now = HOUR * 1000;
    await expect(token.get()).rejects.toBeInstanceOf(ConnectionError);
    expect(await token.get()).toBe(b.idToken);
    expect(seen.expired).toBe(0);
  });

  it('stays in use until it expires when the provider rejects the refresh, then the session ends', async () => {
    const { token, used, seen } = start(new ProviderRejection('invalid_grant'));
    seen.now = 3_000_000;
    expect(await token.get()).toBe(a.idToken);
    expect([token.refreshes, token.endsSession(a.idToken), seen.expired]).toEqual([false, true, 0]);
    expect(await token.get()).toBe(a.idToken);
    expect(used).toHaveLength(1);
    const late = start(new ProviderRejection('invalid_grant'));
    late.seen.now = HOUR * 1000;
    await late.token.get();
    expect(late.seen.expired).toBe(1);
  });

  it('is not refreshed by time without iat and exp claims', async () => {
    const { token, used, seen } = startWith({ idToken: 'opaque', refreshToken: 'refresh' }, [b]);
    seen.now = 100 * HOUR * 1000;
    expect([await token.get(), token.expiresAt]).toEqual(['opaque', undefined]);
    expect(used).toEqual([]);
  });

  it('is not refreshed because the server rejected another token', async () => {
    const { token, used } = start(b);
    expect(await token.get('another')).toBe(a.idToken);
    expect(used).toEqual([]);
  });
});

it('a static token has no expiry without an exp claim and ends the session with the first 401', async () => {
  const token = staticToken('opaque');
  expect([token.expiresAt, token.refreshes]).toEqual([undefined, false]);
  expect(await token.get('opaque')).toBe('opaque');
  expect(token.endsSession('opaque')).toBe(true);
});

import { describe, expect, it } from 'vitest';
import { ConnectionError } from '../../../src/client/index.ts';
import { plainToken, renewedToken } from './held-token.ts';
import { ProviderRefusal } from './provider-metadata.ts';
import type { ProviderTokens } from './provider-tokens.ts';

const HOUR = 3_600;
const jwt = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
/** The provider's clock is a day ahead: only the length of time counts. */
const tokens = (name: string): ProviderTokens => ({
  idToken: jwt({ sub: name, iat: 86_400, exp: 86_400 + HOUR }),
  refreshToken: `refresh-${name}`,
});

/** Signed in at 0; each renewal gives the next of these, or fails as it says. */
function start(...answers: (ProviderTokens | Error)[]) {
  const used: (string | undefined)[] = [];
  const seen = { now: 0, renewed: 0, ended: 0 };
  const held = renewedToken({
    first: tokens('a'),
    renew: async ({ refreshToken }) => {
      used.push(refreshToken);
      const answer = answers.shift() ?? new Error('no more');
      if (answer instanceof Error) throw answer;
      return answer;
    },
    now: () => seen.now,
    onRenewed: () => seen.renewed++,
    onEnd: () => seen.ended++,
  });
  return { held, used, seen };
}

describe('a token that is renewed', () => {
  const [a, b, c] = [tokens('a'), tokens('b'), tokens('c')];

  it('is another when a fifth of its time is left, and each refresh token is used once, however many wait', async () => {
    const { held, used, seen } = start(b, c);
    seen.now = 0.79 * HOUR * 1000;
    expect(await held.get()).toBe(a.idToken);
    seen.now = 0.8 * HOUR * 1000;
    expect(await Promise.all([held.get(), held.get(), held.get()])).toEqual([b.idToken, b.idToken, b.idToken]);
    seen.now *= 2;
    expect(await held.get()).toBe(c.idToken);
    expect(used).toEqual(['refresh-a', 'refresh-b']);
    expect([seen.renewed, seen.ended, held.renews]).toEqual([2, 0, true]);
  });

  it('is another when the server refuses it; when it refuses that, too, it is the end', async () => {
    const { held, used } = start(b);
    expect(held.isEndOf(a.idToken)).toBe(false);
    expect(await held.get(a.idToken)).toBe(b.idToken);
    // A request that was under way with the old one.
    expect(held.isEndOf(a.idToken)).toBe(false);
    expect(await held.get(a.idToken)).toBe(b.idToken);
    expect(held.isEndOf(b.idToken)).toBe(true);
    expect(used).toHaveLength(1);
  });

  it('is used on while the provider does not answer, and asked for again after a while', async () => {
    const { held, used, seen } = start(new Error('silent'), new Error('silent'), new Error('silent'), b);
    seen.now = 3_000_000;
    expect(await held.get()).toBe(a.idToken);
    expect(await held.get()).toBe(a.idToken);
    expect(used).toHaveLength(1);
    seen.now += 10_000;
    expect(await held.get()).toBe(a.idToken);
    expect(used).toHaveLength(2);
    seen.now = HOUR * 1000;
    await expect(held.get()).rejects.toBeInstanceOf(ConnectionError);
    expect(await held.get()).toBe(b.idToken);
    expect(seen.ended).toBe(0);
  });

  it('is used up when the provider refuses to renew it, and then it is the end', async () => {
    const { held, used, seen } = start(new ProviderRefusal('invalid_grant'));
    seen.now = 3_000_000;
    expect(await held.get()).toBe(a.idToken);
    expect([held.renews, held.isEndOf(a.idToken), seen.ended]).toEqual([false, true, 0]);
    expect(await held.get()).toBe(a.idToken);
    expect(used).toHaveLength(1);
    const late = start(new ProviderRefusal('invalid_grant'));
    late.seen.now = HOUR * 1000;
    await late.held.get();
    expect(late.seen.ended).toBe(1);
  });

  it('is not renewed by time when it does not say how long it is good', async () => {
    const { held, used } = start(b);
    const plain = plainToken('opaque');
    expect([plain.endsAt, plain.renews, await plain.get('opaque'), plain.isEndOf('opaque')]).toEqual([
      undefined,
      false,
      'opaque',
      true,
    ]);
    expect(await held.get('another')).toBe(a.idToken);
    expect(used).toEqual([]);
  });
});

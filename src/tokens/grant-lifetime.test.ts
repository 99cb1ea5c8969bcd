import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { propertyRuns } from '../lib/property-runs.fixture.ts';
import { grantLifetime, type LifetimeQuestion, lifetimeWarning, tooShort } from './grant-lifetime.ts';

const NOW = Date.UTC(2026, 7, 1, 12, 0, 0, 999);
const asked: LifetimeQuestion = { requested: 3600, now: NOW, serverSeconds: 86_400 };

describe('the lifetime of a token', () => {
  test.each<[string, Partial<LifetimeQuestion>, number, string]>([
    ['the maximum of the server, in the words of kube-apiserver', { serverSeconds: 1800 }, 1800, ''],
    ['the maximum for people', { sortSeconds: 900 }, 900, ': a pass for a person lasts no longer'],
    ['the pass', { passEndsAt: NOW + 700_000 }, 700, ': the pass ends then'],
    ['the credential', { credentialEndsAt: NOW + 60_001 }, 61, ': the credential of the caller ends then'],
    ['the permission', { permissionEndsAt: NOW + 60_000 }, 60, ': the permission ends then'],
    ['the binding', { maxPassSeconds: 900 }, 900, ': the permission allows no more'],
  ])('is bounded by %s', (_name, bounds, seconds, why) => {
    const lifetime = grantLifetime({ ...asked, ...bounds });
    expect(lifetime).toMatchObject({ seconds, isTooShort: false });
    expect(lifetimeWarning(3600, lifetime)).toBe(
      `requested expiration of 3600 seconds shortened to ${seconds} seconds${why}`,
    );
  });

  it('decision 6, T-28: is never the one that kube-apiserver turns into a year', () => {
    expect(grantLifetime({ ...asked, requested: 3607, byCluster: true }).seconds).toBe(3606);
    expect(grantLifetime({ ...asked, requested: 3607 }).seconds).toBe(3607);
  });

  it('is too short when nothing is left, and for a cluster below ten minutes', () => {
    const ended = grantLifetime({ ...asked, permissionEndsAt: NOW - 5000 });
    expect([ended.isTooShort, tooShort(ended)]).toEqual([
      true,
      'no token is issued for 0s: the permission ends then: ask for one that lasts longer',
    ]);
    const short = { ...asked, passEndsAt: NOW + 598_001 };
    expect(grantLifetime(short).isTooShort).toBe(false);
    const forwarded = grantLifetime({ ...short, byCluster: true });
    expect([forwarded.isTooShort, tooShort(forwarded)]).toEqual([
      true,
      'no token is issued for 9m59s: the pass ends then, and the cluster issues none for less than 10m: ask for another pass',
    ]);
  });

  it('is what was requested, or exactly the least of what bounds it', () => {
    const seconds = fc.integer({ min: 1, max: 2 ** 32 });
    const end = fc.integer({ min: -10_000, max: 2 ** 32 * 1000 }).map((left) => NOW + left);
    const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
    const question = fc.record({
      requested: seconds,
      now: fc.integer({ min: NOW, max: NOW + 2000 }),
      serverSeconds: seconds,
      sortSeconds: optional(seconds),
      passEndsAt: optional(end),
      credentialEndsAt: optional(end),
      permissionEndsAt: optional(end),
      maxPassSeconds: optional(seconds),
      byCluster: fc.boolean(),
    });
    fc.assert(
      fc.property(question, (asked) => {
        const { requested, now, serverSeconds, sortSeconds, maxPassSeconds, byCluster } = asked;
        const { seconds: granted, bound, isTooShort } = grantLifetime(asked);
        const expires = (Math.floor(now / 1000) + granted) * 1000;
        const ends = [asked.passEndsAt, asked.credentialEndsAt, asked.permissionEndsAt].filter(
          (one) => one !== undefined,
        );
        const most = [serverSeconds, sortSeconds, maxPassSeconds].filter((one) => one !== undefined);
        expect(granted).toBeLessThanOrEqual(Math.min(requested, ...most));
        for (const one of ends) expect(expires).toBeLessThanOrEqual(one);
        expect(bound === undefined).toBe(granted === requested);
        const isReached =
          [requested, ...most].includes(granted) || ends.some((one) => one - expires < 1000) || granted === 3606;
        expect(isReached).toBe(true);
        expect(isTooShort).toBe(granted < (byCluster ? 600 : 1));
      }),
      propertyRuns(200, 20_000),
    );
  });
});

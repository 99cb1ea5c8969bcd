import { describe, expect, test } from 'vitest';
import type { Algorithm } from './algorithms.ts';
import {
  createRingChanges,
  currentOf,
  MAX_KEYS,
  type MakeKey,
  nextOf,
  PUBLISHED_MS,
  type RingRules,
  type RingState,
  type Rotation,
  TooManyKeys,
} from './ring-state.ts';

const T0 = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const EMPTY: RingState = { keys: [] };
const FORCED: Rotation = { algorithm: 'ES256', force: true };
const PLANNED: Rotation = { algorithm: 'ES256', force: false };

/** Names in place of keys: `ES256-1`, `ES256-2`. */
function rules(given: Partial<RingRules> = {}) {
  let count = 0;
  const makeKey: MakeKey = async (algorithm, created) => {
    count += 1;
    const kid = `${algorithm}-${count}`;
    return { kid, algorithm, created, publicKey: `public ${kid}`, privateKey: `private ${kid}` };
  };
  return createRingChanges({ algorithms: ['ES256'], lifetimeSeconds: 3600, rotationMs: 0, ...given }, makeKey);
}

const show = ({ keys }: RingState): string[] => keys.map(({ kid, state }) => `${kid} ${state}`).sort();

describe('a new ring', () => {
  test('has a key that signs at once and the next one, and rests', async () => {
    const changes = rules();
    const ring = await changes.advance(EMPTY, T0);
    expect(show(ring)).toEqual(['ES256-1 current', 'ES256-2 next']);
    expect(currentOf(ring, 'ES256')?.signsFrom).toBe(T0);
    expect(await changes.advance(ring, T0 + 1000 * HOUR)).toStrictEqual(ring);
  });
});

describe('rotation', () => {
  test('B9: a key signs only after every verifier can know it', async () => {
    const changes = rules();
    const ring = await changes.rotate(await changes.advance(EMPTY, T0), T0 + HOUR, PLANNED);
    expect(show(ring)).toEqual(['ES256-1 current', 'ES256-2 next']);
    expect(nextOf(ring, 'ES256')?.signsFrom).toBe(T0 + PUBLISHED_MS);
    expect(await changes.advance(ring, T0 + PUBLISHED_MS - 1)).toStrictEqual(ring);
    const turned = await changes.advance(ring, T0 + PUBLISHED_MS);
    expect(show(turned)).toEqual(['ES256-1 retired', 'ES256-2 current', 'ES256-3 next']);
    expect(nextOf(turned, 'ES256')?.signsFrom).toBeUndefined();
  });

  test('B9: so it does when the time for removals is hours behind the clock that dates the keys', async () => {
    const changes = rules();
    const behind = 2 * HOUR;
    const ring = await changes.advance(EMPTY, T0, T0 - behind);
    expect(await changes.advance(ring, T0 + HOUR, T0 + HOUR - behind)).toStrictEqual(ring);
    const planned = await changes.rotate(ring, T0 + 1_000, PLANNED, T0 + 1_000 - behind);
    expect(nextOf(planned, 'ES256')?.signsFrom).toBe(T0 + PUBLISHED_MS);
  });

  test('of a key that is known long enough happens at once; asking twice before it is due changes nothing', async () => {
    const changes = rules();
    const first = await changes.advance(EMPTY, T0);
    const ring = await changes.rotate(first, T0 + PUBLISHED_MS, PLANNED);
    expect(show(ring)).toEqual(['ES256-1 retired', 'ES256-2 current', 'ES256-3 next']);
    const planned = await changes.rotate(ring, T0 + PUBLISHED_MS + 1, PLANNED);
    expect(await changes.rotate(planned, T0 + PUBLISHED_MS + 2, PLANNED)).toStrictEqual(planned);
  });

  test('by force does not wait', async () => {
    const changes = rules();
    const ring = await changes.rotate(await changes.advance(EMPTY, T0), T0 + 1, FORCED);
    expect(show(ring)).toEqual(['ES256-1 retired', 'ES256-2 current', 'ES256-3 next']);
  });

  test('by age: when the key has signed for so long, and never with 0', async () => {
    const changes = rules({ rotationMs: 24 * HOUR });
    const ring = await changes.advance(EMPTY, T0);
    expect(await changes.advance(ring, T0 + 24 * HOUR - 1)).toStrictEqual(ring);
    const turned = await changes.advance(ring, T0 + 24 * HOUR);
    expect(show(turned)).toEqual(['ES256-1 retired', 'ES256-2 current', 'ES256-3 next']);
    expect(await changes.advance(turned, T0 + 25 * HOUR)).toStrictEqual(turned);
  });

  test('a retired key has no private key, and stays until its last token has expired', async () => {
    const changes = rules({ lifetimeSeconds: 7200 });
    const at = T0 + PUBLISHED_MS;
    const ring = await changes.rotate(await changes.advance(EMPTY, T0), at, PLANNED);
    const old = ring.keys.find(({ state }) => state === 'retired');
    expect(old).not.toHaveProperty('privateKey');
    // B31: the last token, its leeway of a minute, ten minutes for a replica that heard of it late, and as long again.
    expect(old?.expires).toBe(at + 2 * 2 * HOUR + 60_000 + 600_000);
    expect(await changes.advance(ring, (old?.expires ?? 0) - 1)).toStrictEqual(ring);
    expect(show(await changes.advance(ring, old?.expires ?? 0))).toEqual(['ES256-2 current', 'ES256-3 next']);
  });

  test('a longer lifetime is covered before the key retires; a shorter one takes nothing away', async () => {
    const ring = await rules({ lifetimeSeconds: 3600 }).advance(EMPTY, T0);
    const longer = rules({ lifetimeSeconds: 86_400 });
    const covered = longer.cover(ring);
    expect(covered.keys.map(({ lifetimeSeconds }) => lifetimeSeconds)).toEqual([86_400, 86_400]);
    expect(longer.cover(covered)).toStrictEqual(covered);
    expect(rules({ lifetimeSeconds: 600 }).cover(covered)).toStrictEqual(covered);
  });

  test('keys that replicas with different lifetimes made are covered one by one', async () => {
    const longer = rules({ lifetimeSeconds: 86_400 });
    const ring = await rules({ lifetimeSeconds: 600 }).rotate(await longer.advance(EMPTY, T0), T0, FORCED);
    const lifetimes = ({ keys }: RingState) => keys.map(({ state, lifetimeSeconds }) => `${state} ${lifetimeSeconds}`);
    expect(lifetimes(ring).sort()).toEqual(['current 86400', 'next 600', 'retired 86400']);
    const between = rules({ lifetimeSeconds: 7_200 }).cover(ring);
    expect(lifetimes(between).sort()).toEqual(['current 86400', 'next 7200', 'retired 86400']);
    expect(lifetimes(longer.cover(between)).sort()).toEqual(['current 86400', 'next 86400', 'retired 86400']);
  });

  test('beyond the limit is refused, until the first keys have expired', async () => {
    const changes = rules();
    let ring = await changes.advance(EMPTY, T0);
    while (ring.keys.length < MAX_KEYS) ring = await changes.rotate(ring, T0, FORCED);
    const refused = new TooManyKeys('there are 32 keys already; the first of them expires at 2026-01-01T02:11:00.000Z');
    await expect(changes.rotate(ring, T0, FORCED)).rejects.toThrow(refused);
    const later = await changes.rotate(ring, T0 + 3 * HOUR, FORCED);
    expect(show(later).length).toBe(3);
  });
});

describe('another algorithm', () => {
  test.each<Algorithm>(['RS256', 'ES384'])('%s: is published first, and signs when it is known', async (algorithm) => {
    const ring = await rules().advance(EMPTY, T0);
    const changes = rules({ algorithms: [algorithm] });
    const started = await changes.advance(ring, T0 + 1);
    expect(show(started)).toEqual(['ES256-1 current', `${algorithm}-1 next`]);
    const turned = await changes.advance(started, T0 + 1 + PUBLISHED_MS);
    expect(show(turned)).toEqual(['ES256-1 retired', `${algorithm}-1 current`, `${algorithm}-2 next`]);
  });

  test('revoking the key that still signs: the new algorithm signs at once, and no key of the old one is made', async () => {
    const ring = await rules().advance(EMPTY, T0);
    const changes = rules({ algorithms: ['RS256'] });
    const started = await changes.advance(ring, T0 + 1);
    expect(show(await changes.revoke(started, T0 + 2, 'ES256-1'))).toEqual(['RS256-1 current', 'RS256-2 next']);
  });

  test('with an external signer there is no current key, and tokens that were signed here stay valid until they expire', async () => {
    const ring = await rules().advance(EMPTY, T0);
    const others = rules({ algorithms: [] });
    const left = await others.advance(ring, T0);
    expect(show(left)).toEqual(['ES256-1 retired']);
    expect(await others.advance(left, T0 + 1)).toStrictEqual(left);
    expect(await others.advance(left, T0 + 24 * HOUR)).toEqual(EMPTY);
  });
});

describe('several algorithms', () => {
  const BOTH = { algorithms: ['ES256', 'RS256'] } as const;
  const FIRST = ['ES256-1 current', 'ES256-2 next', 'RS256-3 current', 'RS256-4 next'];

  test('a new ring has a current and a next key of each, and rests', async () => {
    const changes = rules(BOTH);
    const ring = await changes.advance(EMPTY, T0);
    expect(show(ring)).toEqual(FIRST);
    expect(await changes.advance(ring, T0 + 1000 * HOUR)).toStrictEqual(ring);
  });

  test('B9: one that is added later is published first; the others sign as before', async () => {
    const before = await rules().advance(EMPTY, T0);
    const changes = rules(BOTH);
    const ring = await changes.advance(before, T0 + HOUR);
    expect(show(ring)).toEqual(['ES256-1 current', 'ES256-2 next', 'RS256-1 next']);
    expect(nextOf(ring, 'RS256')?.signsFrom).toBe(T0 + HOUR + PUBLISHED_MS);
    expect(await changes.advance(ring, T0 + HOUR + PUBLISHED_MS - 1)).toStrictEqual(ring);
    const turned = await changes.advance(ring, T0 + HOUR + PUBLISHED_MS);
    expect(show(turned)).toEqual(['ES256-1 current', 'ES256-2 next', 'RS256-1 current', 'RS256-2 next']);
    const forced = await changes.rotate(ring, T0 + HOUR + 1, { algorithm: 'RS256', force: true });
    expect(show(forced)).toEqual(['ES256-1 current', 'ES256-2 next', 'RS256-1 current', 'RS256-3 next']);
  });

  test('one that is no longer in use retires, and its next key is removed', async () => {
    const ring = await rules(BOTH).advance(EMPTY, T0);
    const left = await rules().advance(ring, T0 + 1);
    expect(show(left)).toEqual(['ES256-1 current', 'ES256-2 next', 'RS256-3 retired']);
  });

  test('the default becomes one that signs already: the other retires at once', async () => {
    const ring = await rules(BOTH).advance(EMPTY, T0);
    const left = await rules({ algorithms: ['RS256'] }).advance(ring, T0 + 1);
    expect(show(left)).toEqual(['ES256-1 retired', 'RS256-3 current', 'RS256-4 next']);
  });

  test('each rotates alone, by age as well', async () => {
    const changes = rules({ ...BOTH, rotationMs: 24 * HOUR });
    const first = await changes.advance(EMPTY, T0);
    const ring = await changes.rotate(first, T0 + 12 * HOUR, { algorithm: 'RS256', force: false });
    expect(show(ring)).toEqual([
      'ES256-1 current',
      'ES256-2 next',
      'RS256-3 retired',
      'RS256-4 current',
      'RS256-5 next',
    ]);
    const later = await changes.advance(ring, T0 + 24 * HOUR);
    expect(currentOf(later, 'ES256')?.kid).toBe('ES256-2');
    expect(currentOf(later, 'RS256')?.kid).toBe('RS256-4');
  });

  test('a revoked key is replaced by the next one of its algorithm', async () => {
    const changes = rules(BOTH);
    const ring = await changes.revoke(await changes.advance(EMPTY, T0), T0 + 1, 'RS256-3');
    expect(show(ring)).toEqual(['ES256-1 current', 'ES256-2 next', 'RS256-4 current', 'RS256-5 next']);
  });
});

describe('revoking', () => {
  test('the current key: the next takes over at once', async () => {
    const changes = rules();
    const ring = await changes.revoke(await changes.advance(EMPTY, T0), T0 + 5, 'ES256-1');
    expect(show(ring)).toEqual(['ES256-2 current', 'ES256-3 next']);
    expect(currentOf(ring, 'ES256')?.signsFrom).toBe(T0 + 5);
  });

  test('the next key: another is made', async () => {
    const changes = rules();
    const ring = await changes.revoke(await changes.advance(EMPTY, T0), T0 + 5, 'ES256-2');
    expect(show(ring)).toEqual(['ES256-1 current', 'ES256-3 next']);
    expect(nextOf(ring, 'ES256')?.created).toBe(T0 + 5);
  });

  test('a retired key, and one that is not there', async () => {
    const changes = rules();
    const ring = await changes.rotate(await changes.advance(EMPTY, T0), T0, FORCED);
    expect(show(await changes.revoke(ring, T0, 'ES256-1'))).toEqual(['ES256-2 current', 'ES256-3 next']);
    expect(await changes.revoke(ring, T0, '__proto__')).toStrictEqual(ring);
  });

  test('A43: is remembered until the last token of the key has expired', async () => {
    const changes = rules();
    const first = await changes.revoke(await changes.advance(EMPTY, T0), T0 + 5, 'ES256-1');
    expect(first.revocations).toEqual([{ at: T0 + 5, until: expect.any(Number) }]);
    expect(first.revocations?.[0]?.until).toBeGreaterThan(T0 + 5 + HOUR);
    const second = await changes.revoke(first, T0 + HOUR, 'ES256-2');
    expect(second.revocations?.map(({ at }) => at)).toEqual([T0 + 5, T0 + HOUR]);
    const third = await changes.revoke(second, T0 + 3 * HOUR, 'ES256-3');
    expect(third.revocations?.map(({ at }) => at)).toEqual([T0 + 3 * HOUR]);
  });

  test('A43: is remembered by every other change', async () => {
    const changes = rules({ algorithms: ['ES256', 'RS256'] });
    const ring = await changes.revoke(await changes.advance(EMPTY, T0), T0 + 5, 'ES256-1');
    const later = T0 + 24 * HOUR;
    const changed = [
      await changes.rotate(ring, T0 + 6, PLANNED),
      await changes.rotate(ring, T0 + 6, FORCED),
      await changes.advance(await changes.rotate(ring, T0 + 6, FORCED), later),
      await rules({ rotationMs: 24 * HOUR, algorithms: ['ES256', 'RS256'] }).advance(ring, later),
      await rules().advance(ring, T0 + 6),
      await rules({ algorithms: ['ES256', 'RS256', 'ES384'] }).advance(ring, T0 + 6),
      await changes.advance(ring, T0 - HOUR),
      rules({ lifetimeSeconds: 86_400 }).cover(ring),
    ];
    for (const state of changed) {
      expect(state.keys).not.toEqual(ring.keys);
      expect(state.revocations).toEqual(ring.revocations);
    }
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../observability/secret.ts';
import { createRingChanges, type MakeKey, PUBLISHED_MS, type RingState } from './keys/ring-state.ts';
import { type Fixture, openFixture, START } from './tokens.fixture.ts';

const HOUR = 3_600;
/** Of an issued token. */
const LIFETIME = HOUR;
const LEEWAY = 60;

describe('B13: a token that was verified before, when the clock has jumped by so many seconds', () => {
  let fixture: Fixture;
  let token: string;
  beforeAll(async () => {
    fixture = await openFixture();
    token = await fixture.issue();
  });
  afterAll(() => fixture.remove());

  /** In order, on one verifier: each jump starts where the last one ended, with a warm cache. */
  test.each([
    [0, true],
    [-59, true],
    [-60, true],
    [-61, false],
    [-HOUR, false],
    [59, true],
    [61, true],
    [LIFETIME - 1, true],
    [LIFETIME + LEEWAY - 1, true],
    [LIFETIME + LEEWAY, true],
    [LIFETIME + LEEWAY + 1, false],
    [LIFETIME + HOUR, false],
    [-24 * HOUR, false],
    [0, true],
  ])('%d: accepted %s', async (seconds, accepted) => {
    fixture.clock.now = START + seconds * 1000;
    const outcome = await Promise.try(() => fixture.verifier.verify(new Secret(token))).then(
      () => true,
      () => false,
    );
    expect(outcome).toBe(accepted);
  });
});

describe('B13: the keys, when the clock jumps', () => {
  const makeKey = (): MakeKey => {
    let count = 0;
    return async (algorithm, created) => {
      count += 1;
      return { kid: `k${count}`, algorithm, created, publicKey: '', privateKey: '' };
    };
  };
  const ROTATION = 24 * HOUR * 1000;
  const changes = createRingChanges(
    { algorithms: ['ES256'], lifetimeSeconds: LIFETIME, rotationMs: ROTATION },
    makeKey(),
  );

  const statesOf = ({ keys }: RingState) => keys.map(({ kid, state }) => [kid, state]);

  test('back: nothing is rotated, and nothing is lost', async () => {
    const ring = await changes.advance({ keys: [] }, START);
    for (const back of [59, 61, HOUR, 30 * 24 * HOUR]) {
      const now = START - back * 1000;
      expect(await changes.advance(ring, now, Number.NEGATIVE_INFINITY)).toStrictEqual(ring);
      expect(statesOf(await changes.advance(ring, now))).toEqual(statesOf(ring));
    }
  });

  test('ahead past a rotation and back again: one rotation, and every key that signed stays known', async () => {
    const first = await changes.advance({ keys: [] }, START);
    const rotated = await changes.advance(first, START + ROTATION);
    expect(rotated.keys.map(({ state }) => state).sort()).toEqual(['current', 'next', 'retired']);
    expect(statesOf(await changes.advance(rotated, START))).toEqual(statesOf(rotated));
    expect(await changes.advance(rotated, START + ROTATION)).toStrictEqual(rotated);
  });

  test('a year ahead when keys were generated: their rotation does not wait for a year', async () => {
    const year = 365 * 24 * HOUR * 1000;
    const ahead = await changes.advance({ keys: [] }, START + year);
    expect(await changes.advance(ahead, START, Number.NEGATIVE_INFINITY)).toStrictEqual(ahead);
    const corrected = await changes.advance(ahead, START);
    const planned = await changes.advance(corrected, START + ROTATION);
    const rotated = await changes.advance(planned, START + ROTATION + PUBLISHED_MS);
    expect(rotated.keys.map(({ state }) => state)).toEqual(['current', 'retired', 'next']);
  });

  test('a year ahead when a rotation was planned: it does not wait for a year', async () => {
    const first = await changes.advance({ keys: [] }, START);
    const ahead = START + 365 * 24 * HOUR * 1000;
    const planned = await changes.rotate(first, ahead, { algorithm: 'ES256', force: false }, Number.NEGATIVE_INFINITY);
    const corrected = await changes.advance(planned, START);
    expect(corrected.keys.map(({ state }) => state)).toEqual(['current', 'next']);
    const rotated = await changes.advance(corrected, START + PUBLISHED_MS);
    expect(rotated.keys.map(({ state }) => state)).toEqual(['current', 'retired', 'next']);
  });

  test('B31: ahead for a moment: no key is removed and none is rotated, also not by a revocation', async () => {
    const first = await changes.advance({ keys: [] }, START);
    const rotated = await changes.rotate(first, START, { algorithm: 'ES256', force: true });
    const jumped = START + 30 * 24 * HOUR * 1000;
    expect(await changes.advance(rotated, jumped, Number.NEGATIVE_INFINITY)).toStrictEqual(rotated);
    const planned = await changes.rotate(first, START, { algorithm: 'ES256', force: false });
    expect(await changes.advance(planned, jumped, Number.NEGATIVE_INFINITY)).toStrictEqual(planned);
    const next = rotated.keys.find(({ state }) => state === 'next');
    const revoked = await changes.revoke(rotated, jumped, next?.kid ?? '', Number.NEGATIVE_INFINITY);
    expect(revoked.keys.map(({ state }) => state).sort()).toEqual(['current', 'next', 'retired']);
  });
});

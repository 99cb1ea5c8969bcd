import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../observability/secret.ts';
import { createRingChanges, type MakeKey } from './keys/ring-state.ts';
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

  test('back: nothing is rotated, and nothing is lost', async () => {
    const ring = await changes.advance({ keys: [] }, START);
    for (const back of [59, 61, HOUR, 30 * 24 * HOUR]) {
      expect(await changes.advance(ring, START - back * 1000)).toBe(ring);
    }
  });

  test('ahead past a rotation and back again: one rotation, and every key that signed stays known', async () => {
    const first = await changes.advance({ keys: [] }, START);
    const rotated = await changes.advance(first, START + ROTATION);
    expect(rotated.keys.map(({ state }) => state).sort()).toEqual(['current', 'next', 'retired']);
    expect(await changes.advance(rotated, START)).toBe(rotated);
    expect(await changes.advance(rotated, START + ROTATION)).toBe(rotated);
  });

  test('B31: ahead for a moment: no key is removed and none is rotated, also not by a revocation', async () => {
    const first = await changes.advance({ keys: [] }, START);
    const rotated = await changes.rotate(first, START, { algorithm: 'ES256', force: true });
    const jumped = START + 30 * 24 * HOUR * 1000;
    expect(await changes.advance(rotated, jumped, Number.NEGATIVE_INFINITY)).toBe(rotated);
    const next = rotated.keys.find(({ state }) => state === 'next');
    const revoked = await changes.revoke(rotated, jumped, next?.kid ?? '', Number.NEGATIVE_INFINITY);
    expect(revoked.keys.map(({ state }) => state).sort()).toEqual(['current', 'next', 'retired']);
  });
});

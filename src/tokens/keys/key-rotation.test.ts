import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../observability/secret.ts';
import { LEADER_KEY } from '../../storage/contract.ts';
import { buildClaims } from '../claims.ts';
import { createIssuerDocuments } from '../issuer-documents.ts';
import { createSigner } from '../signer.ts';
import { API, grantOf, ISSUERS, openFixture, openTestRing, START, TEST_ENCRYPTION_KEY } from '../tokens.fixture.ts';
import { createVerifier } from '../verifier.ts';
import { makeKey } from './key-material.ts';
import type { StoredKeyRing } from './key-ring.ts';
import { PUBLISHED_MS } from './ring-state.ts';
import { createRingStore } from './ring-store.ts';

/** Two replicas on one store: one makes changes, the other hears of them through the store's watch. */

const FOLLOWER = { leads: () => false, fence: () => undefined };

const fixture = await openFixture();
const { store, clock } = fixture;
const other = await openTestRing({ store, clock, leadership: FOLLOWER });
afterAll(async () => {
  await other.close();
  await fixture.remove();
});

const kids = (ring: StoredKeyRing): string[] => ring.entries().map(({ kid, state }) => `${kid} ${state}`);
const agree = () =>
  expect.poll(() => JSON.stringify(kids(other)) === JSON.stringify(kids(fixture.ring)), { interval: 5 }).toBe(true);

const documentsOf = (keyRing: StoredKeyRing) =>
  createIssuerDocuments({
    keyRing,
    issuers: ISSUERS,
    onChange: (listener) => keyRing.onChange(listener),
  });
const setOf = (documents: ReturnType<typeof documentsOf>): JSONWebKeySet =>
  JSON.parse(Buffer.from(documents.keySet()).toString());

const MINUTE = 60_000;
const LIFETIME = 3600;

/** Issues every ten minutes at both replicas, and asks verifiers whose key sets are up to an hour old. */
async function live(
  minutes: number,
  issued: { token: string; expires: number }[],
  sets: JSONWebKeySet[],
): Promise<number> {
  const { clock, ring } = fixture;
  const verifiers = [ring, other].map((keyRing) =>
    createVerifier({
      keyRing,
      clusterOfIssuer: ISSUERS.clusterOfIssuer,
      findLive: fixture.world.findLive,
      now: () => clock.now,
    }),
  );
  let checked = 0;
  const published = documentsOf(other);
  for (let passed = 0; passed < minutes; passed += 10) {
    clock.now += 10 * MINUTE;
    await ring.maintain();
    await agree();
    sets.push(setOf(published));
    for (const keyRing of [ring, other]) {
      const claims = buildClaims(grantOf({ now: clock.now, expirationSeconds: LIFETIME }));
      issued.push({ token: await createSigner(keyRing).sign(claims), expires: clock.now + LIFETIME * 1000 });
    }
    const hourOld = createLocalJWKSet(sets.at(-7) ?? (sets[0] as JSONWebKeySet));
    const now = createLocalJWKSet(sets.at(-1) as JSONWebKeySet);
    for (const { token } of issued.filter(({ expires }) => expires > clock.now)) {
      for (const verifier of verifiers) await verifier.verify(new Secret(token));
      for (const keySet of [hourOld, now]) {
        await jwtVerify(token, keySet, { issuer: API, currentDate: new Date(clock.now) });
        checked++;
      }
    }
  }
  return checked;
}

describe('B9: rotation', () => {
  test('no valid token is rejected across three rotations, even by verifiers with a key set an hour old', async () => {
    const issued: { token: string; expires: number }[] = [];
    const sets = [setOf(documentsOf(fixture.ring))];
    const signers = new Set([fixture.ring.signing().kid]);
    let checked = await live(10, issued, sets);
    for (let rotation = 1; rotation <= 3; rotation++) {
      const chosen = await fixture.ring.rotate({ force: false, dryRun: false });
      expect(chosen.state).toBe('next');
      checked += await live(90, issued, sets);
      expect(fixture.ring.signing().kid).toBe(chosen.kid);
      signers.add(chosen.kid);
    }
    expect(signers.size).toBe(4);
    expect(checked).toBeGreaterThan(500);
    // The first key is long done with, and gone.
    expect(fixture.ring.entries().length).toBeLessThan(5);
  }, 60_000);

  test('a verifier with an old key set refuses a key that signed before it was published long enough', async () => {
    const old = createLocalJWKSet(setOf(documentsOf(fixture.ring)));
    await fixture.ring.rotate({ force: true, dryRun: false });
    await fixture.ring.rotate({ force: true, dryRun: false });
    const token = await createSigner(fixture.ring).sign(buildClaims(grantOf({ now: fixture.clock.now })));
    const verified = jwtVerify(token, old, { currentDate: new Date(fixture.clock.now) });
    await expect(verified).rejects.toThrow(errors.JWKSNoMatchingKey);
  });
});

describe('replicas', () => {
  test('rotate at once, by force: one after the other, and nothing is lost', async () => {
    await agree();
    const before = fixture.ring.entries().length;
    await Promise.all([fixture.ring, other].map((ring) => ring.rotate({ force: true, dryRun: false })));
    await expect.poll(() => fixture.ring.entries().length).toBe(before + 2);
    await agree();
    expect(kids(fixture.ring).filter((key) => key.endsWith('current')).length).toBe(1);
  });

  test('a dry run returns the key of the rotation, and changes nothing', async () => {
    const before = kids(fixture.ring);
    const chosen = await fixture.ring.rotate({ force: false, dryRun: true });
    expect(chosen).toMatchObject({ state: 'next', signsFrom: chosen.created + PUBLISHED_MS });
    const forced = await fixture.ring.rotate({ force: true, dryRun: true });
    expect(forced).toMatchObject({ state: 'current', kid: chosen.kid });
    expect(kids(fixture.ring)).toEqual(before);
  });

  test('a revoked key is gone everywhere; the next signs at once', async () => {
    const { kid } = fixture.ring.signing();
    const next = fixture.ring.entries().find(({ state }) => state === 'next')?.kid;
    const documents = documentsOf(other);
    expect(await fixture.ring.revoke(kid)).toBe(true);
    expect(fixture.ring.signing().kid).toBe(next);
    await agree();
    expect(other.find(kid)).toBeUndefined();
    expect(other.signing().kid).toBe(next);
    expect(JSON.stringify(setOf(documents))).not.toContain(kid);
    expect(await other.revoke(kid)).toBe(false);
  });

  test('A43: every replica knows when a key was revoked, also after a rotation, until its tokens have expired', async () => {
    const at = fixture.clock.now;
    await fixture.ring.revoke(fixture.ring.signing().kid);
    await fixture.ring.rotate({ force: true, dryRun: false });
    await agree();
    expect(other.revocations()).toContain(at);
    expect(fixture.ring.revocations()).toEqual(other.revocations());
    fixture.clock.now += 100 * 3_600_000;
    expect(fixture.ring.revocations()).toEqual([]);
    fixture.clock.now = at;
  });

  test('only the leader rotates and removes keys', async () => {
    fixture.clock.now += 100 * 3_600_000;
    const before = kids(other);
    await other.maintain();
    expect(kids(other)).toEqual(before);
    await fixture.ring.maintain();
    expect(kids(fixture.ring).length).toBe(2);
    await agree();
  });

  test('a former leader that was suspended and does not know it rotates nothing', async () => {
    const { store, clock } = fixture;
    const elected = async (): Promise<number> =>
      (await store.write({ key: LEADER_KEY, value: new Uint8Array(1), expect: { absent: true } })).revision;
    const first = await elected();
    let created = first;
    const leadership = { leads: () => true, fence: () => ({ key: LEADER_KEY, expect: { createRevision: created } }) };
    const log: string[] = [];
    const rules = { rotationMs: 3_600_000 };
    const sleeper = await openTestRing({ store, clock, leadership, log, rules });
    onTestFinished(() => sleeper.close());
    clock.now += 100 * 3_600_000;
    const before = kids(sleeper);
    // Its lease expires, and another replica is elected.
    await store.write({ key: LEADER_KEY, value: null, expect: { modRevision: first } });
    const second = await elected();
    await sleeper.maintain();
    await sleeper.maintain();
    expect(kids(sleeper)).toEqual(before);
    // Maintenance runs every second: a lasting problem is logged once.
    expect(log.filter((line) => line.includes('could not be updated'))).toHaveLength(1);
    created = second;
    await sleeper.maintain();
    expect(kids(sleeper)).not.toEqual(before);
  });

  test('a leader that another replica replaces while it makes a key rotates nothing', async () => {
    const { store, clock } = fixture;
    let created = 0;
    const elect = async (): Promise<void> => {
      const present = await store.get(LEADER_KEY);
      const over = { key: LEADER_KEY, value: null, expect: { modRevision: present?.modRevision ?? 0 } };
      if (present !== undefined) await store.write(over);
      created = (await store.write({ key: LEADER_KEY, value: new Uint8Array(1), expect: { absent: true } })).revision;
    };
    await elect();
    const leadership = { leads: () => true, fence: () => ({ key: LEADER_KEY, expect: { createRevision: created } }) };
    const rules = { rotationMs: 3_600_000 };
    const leader = await openTestRing({
      ...{ store, clock, leadership, rules },
      makeKey: async (algorithm, at) => {
        await elect();
        return makeKey(algorithm, at);
      },
    });
    onTestFinished(() => leader.close());
    const before = kids(leader);
    clock.now += 100 * 3_600_000;
    await leader.maintain();
    expect(kids(leader)).toEqual(before);
  });

  test('a change without effect writes nothing', async () => {
    const { store, ring } = fixture;
    // The first may promote a key that is known long enough; the second plans the promotion of the next one.
    for (let rotation = 1; rotation <= 2; rotation++) await ring.rotate({ force: false, dryRun: false });
    const before = await store.revision();
    await ring.maintain();
    await ring.rotate({ force: false, dryRun: false });
    expect(await ring.revoke('no such key')).toBe(false);
    expect(await store.revision()).toBe(before);
  });

  test('a replica that grants longer lifetimes has its tokens covered', async () => {
    const { store, clock } = fixture;
    const lifetimeSeconds = 86_400;
    const generous = await openTestRing({ store, clock, rules: { lifetimeSeconds } });
    onTestFinished(() => generous.close());
    await agree();
    await fixture.ring.rotate({ force: true, dryRun: false });
    const retired = fixture.ring.entries().find(({ state }) => state === 'retired');
    expect(retired?.expires).toBeGreaterThan(clock.now + lifetimeSeconds * 1000);
    expect(clock.now).toBeGreaterThan(START);
    // The rotation has made a key for the shorter lifetime, which the generous replica signs with next.
    const lifetimes = async () =>
      (await createRingStore(store, TEST_ENCRYPTION_KEY).read())?.state.keys
        .filter(({ state }) => state !== 'retired')
        .map((key) => key.lifetimeSeconds);
    await expect.poll(lifetimes).toEqual([lifetimeSeconds, lifetimeSeconds]);
  });
});

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { JWS_ALGORITHMS } from '../../lib/jws-algorithms.ts';
import type { Store } from '../../storage/contract.ts';
import { openSqliteStore } from '../../storage/sqlite/sqlite-store.ts';
import { openTestRing, START, TEST_ENCRYPTION_KEY, temporaryDirectory } from '../tokens.fixture.ts';
import { encryptionKey } from './encryption-key.ts';
import type { StoredKeyRing } from './key-ring.ts';
import { RING_KEY } from './ring-store.ts';

const rings: StoredKeyRing[] = [];

const store = await openSqliteStore({ file: join(temporaryDirectory(), 'test.db') });
beforeEach(async () => {
  await closeAll();
  const stored = await store.get(RING_KEY);
  if (stored !== undefined) {
    await store.write({ key: RING_KEY, value: null, expect: { modRevision: stored.modRevision } });
  }
});
afterAll(async () => {
  await closeAll();
  await store.close();
});

const closeAll = async (): Promise<void> => {
  for (const ring of rings.splice(0)) await ring.close();
};

async function open(options: Partial<Parameters<typeof openTestRing>[0]> = {}): ReturnType<typeof openTestRing> {
  const ring = await openTestRing({ store, clock: { now: START }, ...options });
  rings.push(ring);
  return ring;
}

/** The same store with another watch. */
const withWatch = (given: Store, watch: Store['watch']): Store => ({
  get: (key, revision) => given.get(key, revision),
  list: (request) => given.list(request),
  write: (write) => given.write(write),
  watch,
  revision: () => given.revision(),
  compact: (revision) => given.compact(revision),
  close: () => given.close(),
});

const states = (ring: StoredKeyRing): string[] => ring.entries().map(({ algorithm, state }) => `${algorithm} ${state}`);

describe('the first start', () => {
  test('K-02: the kid is the SHA-256 of the public key, and the same after a restart', async () => {
    const ring = await open();
    expect(states(ring)).toEqual(['ES256 current', 'ES256 next']);
    for (const { kid, publicKey } of ring.all()) {
      const der = publicKey.export({ type: 'spki', format: 'der' });
      expect(kid).toBe(createHash('sha256').update(der).digest('base64url'));
      expect(kid).toMatch(/^[A-Za-z0-9][A-Za-z0-9_-]{42}$/);
    }
    expect((await open()).entries().map(({ kid }) => kid)).toEqual(ring.entries().map(({ kid }) => kid));
  });

  test('replicas that start together agree on one set of keys', async () => {
    const opened = await Promise.all(Array.from({ length: 8 }, () => open()));
    const sets = opened.map((ring) => JSON.stringify(ring.entries().map(({ kid, state }) => [kid, state])));
    expect(new Set(sets).size).toBe(1);
  });

  test.each(JWS_ALGORITHMS)('%s: signs, and the signature has the length of its kind', async (algorithm) => {
    const ring = await open({ rules: { algorithms: [algorithm] } });
    const key = ring.signing();
    const data = Buffer.from('data');
    const signature = Buffer.from(await key.sign('data'), 'base64url');
    expect(signature.length).toBe({ ES256: 64, ES384: 96, RS256: 256 }[algorithm]);
    expect(await ring.find(key.kid)?.verify(data, signature)).toBe(true);
    expect(await ring.find(key.kid)?.verify(Buffer.from('other'), signature)).toBe(false);
  });

  test('a kid is looked up, never interpreted', async () => {
    const ring = await open();
    for (const kid of ['__proto__', 'constructor', '../ring', '', "' OR 1=1--"]) expect(ring.find(kid)).toBeUndefined();
  });
});

describe('changes', () => {
  const DAY = 86_400_000;

  test('B31: while nothing may be removed by the clock, neither maintenance nor a change removes or rotates a key', async () => {
    const clock = { now: START };
    let isTrusted = true;
    const removalTime = (): number => (isTrusted ? clock.now : Number.NEGATIVE_INFINITY);
    const ring = await open({ clock, removalTime, rules: { rotationMs: DAY } });
    await ring.rotate({ force: true, dryRun: false });
    clock.now += 30 * DAY;
    isTrusted = false;
    const before = ring.entries();
    await ring.maintain();
    expect(ring.entries()).toEqual(before);
    expect(await ring.revoke(before.find(({ state }) => state === 'next')?.kid ?? '')).toBe(true);
    expect(states(ring)).toEqual(['ES256 current', 'ES256 next', 'ES256 retired']);
    await ring.rotate({ force: true, dryRun: false });
    expect(states(ring)).toEqual(['ES256 current', 'ES256 next', 'ES256 retired', 'ES256 retired']);
    isTrusted = true;
    await ring.maintain();
    expect(states(ring)).toEqual(['ES256 current', 'ES256 next', 'ES256 retired']);
  });

  const noEvents: Store['watch'] = async function* (_prefix, _after, signal) {
    await once(signal, 'abort');
    yield* [];
  };

  test('a replica whose watch is late rotates and revokes by the ring in the store', async () => {
    const late = await open({ store: withWatch(store, noEvents) });
    const ring = await open();
    const { kid } = await ring.rotate({ force: true, dryRun: false });
    expect(late.find(kid)).toBeDefined();
    const next = ring.entries().find(({ state }) => state === 'next')?.kid ?? '';
    expect(late.find(next)).toBeUndefined();
    expect((await late.rotate({ force: true, dryRun: true })).kid).toBe(next);
    await ring.rotate({ force: true, dryRun: false });
    const newest = ring.entries().find(({ state }) => state === 'next')?.kid ?? '';
    expect(late.find(newest)).toBeUndefined();
    expect(await late.revoke(newest)).toBe(true);
    await expect.poll(() => ring.find(newest)).toBeUndefined();
  });

  test('a key that has been replaced signs nothing more, nor does any key of a closed ring', async () => {
    const ring = await open();
    const old = ring.signing();
    expect(await old.sign('data')).toMatch(/^[\w-]{86}$/);
    await ring.rotate({ force: true, dryRun: false });
    const current = ring.signing();
    expect(await current.sign('data')).toMatch(/^[\w-]{86}$/);
    await expect(old.sign('data')).rejects.toThrow('no longer in use');
    await ring.close();
    await expect(current.sign('data')).rejects.toThrow('no longer in use');
  });

  test('until a new default algorithm signs, the default before it does, and others sign as before', async () => {
    const first = await open({ rules: { algorithms: ['ES256', 'ES384'] } });
    const before = [first.signing().kid, first.signing('ES384').kid];
    const ring = await open({ rules: { algorithms: ['RS256', 'ES384'] } });
    expect([ring.signing().kid, ring.signing('ES384').kid]).toEqual(before);
    expect(ring.signing('RS256').alg).toBe('ES256');
  });
});

describe('in the store', () => {
  test('nothing can be read without the encryption key', async () => {
    const ring = await open();
    const text = Buffer.from((await store.get(RING_KEY))?.value ?? []).toString();
    expect(Object.keys(JSON.parse(text))).toEqual(['version', 'encryptionKey', 'sealed']);
    for (const { kid } of ring.entries()) {
      expect(text).not.toContain(kid);
      expect(Buffer.from(JSON.parse(text).sealed, 'base64').toString('latin1')).not.toContain(kid);
    }
  });

  test('another encryption key is refused, and the message says what to give', async () => {
    await open();
    const other = encryptionKey(Buffer.alloc(32, 8));
    await expect(open({ encryptionKey: other })).rejects.toThrow(/another key.*--encryption-key-file/);
  });

  test('A1: a ring that another program wrote is refused', async () => {
    const ring = await open();
    const { kid } = ring.signing();
    const stored = await store.get(RING_KEY);
    const envelope = JSON.parse(Buffer.from(stored?.value ?? []).toString());
    const forged = encryptionKey(Buffer.alloc(32, 8)).seal(Buffer.from('{"keys":[]}'), RING_KEY);
    const value = Buffer.from(JSON.stringify({ ...envelope, sealed: forged.toString('base64') }));
    await store.write({ key: RING_KEY, value, expect: { modRevision: stored?.modRevision ?? 0 } });
    await expect(open()).rejects.toThrow(/damaged/);
    expect(ring.signing().kid).toBe(kid);
  });

  /** The ring as another program writes it. */
  const replace = async (change: (envelope: Record<string, unknown>) => object): Promise<void> => {
    const stored = await store.get(RING_KEY);
    const value = Buffer.from(JSON.stringify(change(JSON.parse(Buffer.from(stored?.value ?? []).toString()))));
    await store.write({ key: RING_KEY, value, expect: { modRevision: stored?.modRevision ?? 0 } });
  };

  test('a newer form is refused', async () => {
    await open();
    await replace((envelope) => ({ ...envelope, version: 2 }));
    await expect(open()).rejects.toThrow(/newer release/);
  });

  test.each([
    ['kid', undefined],
    ['algorithm', 'ES512'],
    ['state', 'paused'],
    ['publicKey', undefined],
    ['created', undefined],
    ['lifetimeSeconds', undefined],
  ])('keys of another form are refused: %s %s', async (field, given) => {
    await open();
    await replace(({ sealed, ...envelope }) => {
      const plain = TEST_ENCRYPTION_KEY.unseal(Buffer.from(String(sealed), 'base64'), RING_KEY);
      const { keys } = JSON.parse(plain?.toString() ?? '');
      const changed = { keys: keys.map((key: object) => ({ ...key, [field]: given })) };
      const next = TEST_ENCRYPTION_KEY.seal(Buffer.from(JSON.stringify(changed)), RING_KEY);
      return { ...envelope, sealed: next.toString('base64') };
    });
    await expect(open()).rejects.toThrow('the signing keys in the store are damaged');
  });

  test('a ring that cannot be read, or is gone, is reported; the keys in memory stay, and later changes are followed', async () => {
    const log: string[] = [];
    const ring = await open({ log });
    const { kid } = ring.signing();
    let changes = 0;
    ring.onChange(() => changes++);
    let kept: Record<string, unknown> = {};
    await replace((envelope) => {
      kept = envelope;
      return { ...envelope, version: 2 };
    });
    await expect.poll(() => log).toEqual(['the signing keys could not be updated']);
    expect(ring.signing().kid).toBe(kid);
    await replace(() => kept);
    await expect.poll(() => changes).toBe(1);
    const stored = await store.get(RING_KEY);
    await store.write({ key: RING_KEY, value: null, expect: { modRevision: stored?.modRevision ?? 0 } });
    await expect.poll(() => log).toHaveLength(2);
    expect(ring.signing().kid).toBe(kid);
  });
});

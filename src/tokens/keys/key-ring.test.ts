import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { JWS_ALGORITHMS } from '../../lib/jws-algorithms.ts';
import type { Store } from '../../storage/contract.ts';
import { openSqliteStore } from '../../storage/sqlite/sqlite-store.ts';
import { openTestRing, pemOf, placeKey, START, TEST_ENCRYPTION_KEY, temporaryDirectory } from '../tokens.fixture.ts';
import { newPrivateKey } from './algorithms.ts';
import { encryptionKey } from './encryption-key.ts';
import { makeKey, publicJwk } from './key-material.ts';
import type { StoredKeyRing } from './key-ring.ts';
import type { MakeKey } from './ring-state.ts';
import { RING_KEY } from './ring-store.ts';

let root: string;
let dir: string;
let store: Store;
let removeRoot: () => Promise<void>;
let count = 0;
const rings: StoredKeyRing[] = [];

beforeAll(async () => {
  ({ dir: root, remove: removeRoot } = await temporaryDirectory());
  store = await openSqliteStore({ file: join(root, 'test.db') });
});
beforeEach(async () => {
  await closeAll();
  const stored = await store.get(RING_KEY);
  if (stored !== undefined) {
    await store.write({ key: RING_KEY, value: null, expect: { modRevision: stored.modRevision } });
  }
  dir = join(root, `keys-${count++}`);
});
afterAll(async () => {
  await closeAll();
  await store.close();
  await removeRoot();
});

const closeAll = async (): Promise<void> => {
  for (const ring of rings.splice(0)) await ring.close();
};

async function open(options: Partial<Parameters<typeof openTestRing>[0]> = {}): ReturnType<typeof openTestRing> {
  const ring = await openTestRing({ store, clock: { now: START }, keysDir: dir, ...options });
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
  compactedRevision: () => given.compactedRevision(),
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

  test('a change is repeated when another replica was faster, a bounded number of times', async () => {
    const ring = await open();
    let rivals = 0;
    const slow: MakeKey = async (algorithm, created) => {
      if (rivals-- > 0) await ring.rotate({ force: true, dryRun: false });
      return makeKey(algorithm, created);
    };
    const late = await open({ store: withWatch(store, noEvents), makeKey: slow });
    rivals = 1;
    const { kid } = await late.rotate({ force: true, dryRun: false });
    await expect.poll(() => ring.signing().kid).toBe(kid);
    rivals = 20;
    const problem = 'the signing keys were changed by other replicas in each of 8 attempts';
    await expect(late.rotate({ force: true, dryRun: false })).rejects.toThrow(problem);
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
    await placeKey(dir, 'es256.pem', pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey));
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

describe('keys that are in files', () => {
  const newKey = () => newPrivateKey('ES256');

  test('are imported once: the current key keeps signing, the others verify until their tokens have expired', async () => {
    const [signed, other] = [await newKey(), await newPrivateKey('ES384')];
    await placeKey(dir, 'es256.pem', pemOf(signed));
    await placeKey(dir, 'es384.pem', pemOf(other));
    await placeKey(dir, 'until-july.pem', pemOf(await newKey()));
    const log: string[] = [];
    const ring = await open({ log });
    expect(states(ring)).toEqual(['ES256 current', 'ES256 next', 'ES256 retired', 'ES384 retired']);
    expect(publicJwk(ring.all()[0] as never).x).toBe(signed.export({ format: 'jwk' }).x);
    expect(log.join()).toMatch(/imported from files into the store.*no longer read: remove them/);
    expect(await ring.revoke(ring.entries()[3]?.kid ?? '')).toBe(true);
    // The files lie there still: what was revoked does not come back with them.
    expect(states(await open())).toEqual(['ES256 current', 'ES256 next', 'ES256 retired']);
    await rm(dir, { recursive: true });
    const quiet: string[] = [];
    await open({ log: quiet });
    expect(quiet).toEqual([]);
  });

  test.each([0o644, 0o640, 0o604, 0o620])('A1: mode %o is refused, also after they were imported', async (mode) => {
    const file = await placeKey(dir, 'es256.pem', pemOf(await newKey()));
    await chmod(file, mode);
    await expect(open()).rejects.toThrow(/es256\.pem holds a secret and is open .* Run: chmod 600/);
    await chmod(file, 0o600);
    await open();
    await chmod(file, mode);
    await expect(open()).rejects.toThrow(/chmod 600/);
  });

  test('A1: a symbolic link, a directory and a key of another user are refused', async () => {
    const file = await placeKey(dir, 'es256.pem', pemOf(await newKey()));
    if (process.geteuid?.() === 0) {
      await chown(file, 12345, 12345);
      await expect(open()).rejects.toThrow(/belongs to another user \(uid 12345\)/);
      await chown(file, 0, 0);
    }
    await rename(file, join(root, 'elsewhere'));
    await symlink(join(root, 'elsewhere'), file);
    await expect(open()).rejects.toThrow(/is a symbolic link/);
    await rm(file);
    await mkdir(file, { mode: 0o700 });
    await expect(open()).rejects.toThrow(/is not a regular file/);
  });

  test('something that is no key is refused, and its content is not repeated', async () => {
    await placeKey(dir, 'es256.pem', 'canary-not-a-key');
    await expect(open()).rejects.toThrow(/does not hold an unencrypted private key/);
    await expect(open()).rejects.not.toThrow(/canary/);
  });

  test.each([
    ['ed25519', () => generateKeyPairSync('ed25519')],
    ['secp256k1', () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' })],
    ['RSA of 1024 bits', () => generateKeyPairSync('rsa', { modulusLength: 1024 })],
    ['RSA-PSS', () => generateKeyPairSync('rsa-pss', { modulusLength: 2048 })],
  ])('an unusable type is refused: %s', async (_name, make) => {
    await placeKey(dir, 'other.pem', pemOf(make().privateKey));
    await expect(open()).rejects.toThrow(/other\.pem holds a key of an unusable type/);
  });

  test('a current key that is also in another file keeps signing, and is imported once', async () => {
    const key = await newKey();
    for (const name of ['copy.pem', 'es256.pem', 'old.pem']) await placeKey(dir, name, pemOf(key));
    const ring = await open();
    expect(states(ring)).toEqual(['ES256 current', 'ES256 next']);
    expect(publicJwk(ring.all()[0] as never).x).toBe(key.export({ format: 'jwk' }).x);
  });

  test('a key under the name of another algorithm is refused', async () => {
    await placeKey(dir, 'es256.pem', pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey));
    await expect(open()).rejects.toThrow(/named for ES256 and holds a key for ES384/);
  });
});

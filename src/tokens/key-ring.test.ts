import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ALGORITHMS } from './algorithms.ts';
import { openKeyRing } from './key-ring.ts';
import { openSealKey } from './seal-key.ts';
import { ensureSecretFile } from './secret-file.ts';
import { temporaryDirectory } from './tokens.fixture.ts';

let root: string;
let dir: string;
let remove: () => Promise<void>;

beforeEach(async () => {
  ({ dir: root, remove } = await temporaryDirectory());
  dir = join(root, 'keys');
});
afterEach(() => remove());

const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
const open = () => openKeyRing({ dir, algorithm: 'ES256' });

async function place(name: string, content: string | Uint8Array, permissions = 0o600): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, name);
  await writeFile(path, content);
  await chmod(path, permissions);
  return path;
}

const pemOf = (pair: { privateKey: KeyObject }): string =>
  pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

describe('the first start', () => {
  test('makes a private directory and a private key file, and leaves nothing else behind', async () => {
    await open();
    expect(await mode(dir)).toBe(0o700);
    expect(await readdir(dir)).toEqual(['es256.pem']);
    expect(await mode(join(dir, 'es256.pem'))).toBe(0o600);
    expect(await readFile(join(dir, 'es256.pem'), 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  });

  test('K-02: the kid is the SHA-256 of the public key, and the same after a restart', async () => {
    const ring = await open();
    const [key] = ring.all();
    const der = key?.publicKey.export({ type: 'spki', format: 'der' }) ?? Buffer.alloc(0);
    expect(key?.kid).toBe(createHash('sha256').update(der).digest('base64url'));
    expect(key?.kid).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect((await open()).signing().kid).toBe(key?.kid);
  });

  test('processes that start together agree on one key', async () => {
    const rings = await Promise.all(Array.from({ length: 8 }, open));
    expect(new Set(rings.map((ring) => ring.signing().kid)).size).toBe(1);
    expect(await readdir(dir)).toEqual(['es256.pem']);
  });

  test.each(ALGORITHMS)('%s: signs, and the signature has the length of its kind', async (algorithm) => {
    const ring = await openKeyRing({ dir, algorithm });
    const key = ring.signing();
    const data = Buffer.from('data');
    const signature = await key.sign(data);
    expect(signature.length).toBe({ ES256: 64, ES384: 96, RS256: 256 }[algorithm]);
    expect(await ring.find(key.kid)?.verify(data, signature)).toBe(true);
    expect(await ring.find(key.kid)?.verify(Buffer.from('other'), signature)).toBe(false);
  });
});

describe('several keys', () => {
  test('another algorithm signs with a new key; the older stays for verifying, and comes back', async () => {
    const first = (await open()).signing().kid;
    const ring = await openKeyRing({ dir, algorithm: 'RS256' });
    expect(ring.signing().alg).toBe('RS256');
    expect(ring.all().map(({ alg }) => alg)).toEqual(['RS256', 'ES256']);
    expect(ring.find(first)?.alg).toBe('ES256');
    expect((await open()).signing().kid).toBe(first);
  });

  test('a renamed key is retired, a deleted one is gone', async () => {
    const old = (await open()).signing().kid;
    await rename(join(dir, 'es256.pem'), join(dir, 'es256-until-july.pem'));
    const ring = await open();
    expect(ring.signing().kid).not.toBe(old);
    expect(ring.find(old)?.kid).toBe(old);
    await rm(join(dir, 'es256-until-july.pem'));
    expect((await open()).find(old)).toBeUndefined();
  });

  test('a kid is looked up, never interpreted', async () => {
    const ring = await open();
    for (const kid of ['__proto__', 'constructor', '../es256', '', "' OR 1=1--"])
      expect(ring.find(kid)).toBeUndefined();
  });
});

describe('A1: refuses to start', () => {
  test.each([0o644, 0o640, 0o604, 0o620])('with a key of mode %o', async (permissions) => {
    await open();
    await chmod(join(dir, 'es256.pem'), permissions);
    await expect(open()).rejects.toThrow(/es256\.pem holds a secret and is open .* Run: chmod 600/);
  });

  test('with a link in the place of the key', async () => {
    await open();
    await rename(join(dir, 'es256.pem'), join(root, 'elsewhere'));
    await symlink(join(root, 'elsewhere'), join(dir, 'es256.pem'));
    await expect(open()).rejects.toThrow(/is a symbolic link/);
  });

  test('with a directory in the place of the key', async () => {
    await mkdir(join(dir, 'es256.pem'), { recursive: true, mode: 0o700 });
    await expect(open()).rejects.toThrow(/is not a regular file/);
  });

  test('with something that is no key, whose content is not repeated', async () => {
    await place('es256.pem', 'canary-not-a-key');
    await expect(open()).rejects.toThrow(/does not hold an unencrypted private key/);
    await expect(open()).rejects.not.toThrow(/canary/);
  });

  test.each([
    ['ed25519', () => generateKeyPairSync('ed25519')],
    ['secp256k1', () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' })],
    ['RSA of 1024 bits', () => generateKeyPairSync('rsa', { modulusLength: 1024 })],
    ['RSA-PSS', () => generateKeyPairSync('rsa-pss', { modulusLength: 2048 })],
  ])('with a key of an unusable type: %s', async (_name, make) => {
    await place('other.pem', pemOf(make()));
    await expect(open()).rejects.toThrow(/other\.pem holds a key of an unusable type/);
  });

  test('with a key under the name of another algorithm', async () => {
    await place('es256.pem', pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' })));
    await expect(open()).rejects.toThrow(/named for ES256 and holds a key for ES384/);
  });

  test('with a key in a directory that others may write', async () => {
    await open();
    await chmod(dir, 0o777);
    await expect(open()).rejects.toThrow(/Run: chmod 700/);
  });

  test.runIf(process.geteuid?.() === 0)('with a key that belongs to somebody else', async () => {
    await open();
    await chown(join(dir, 'es256.pem'), 12345, 12345);
    await expect(open()).rejects.toThrow(/belongs to another user \(uid 12345\)/);
  });
});

describe('the seal key', () => {
  test('32 random bytes, private, the same after a restart', async () => {
    const key = await openSealKey(dir);
    expect(key.length).toBe(32);
    expect(await mode(join(dir, 'seal.key'))).toBe(0o600);
    expect(Buffer.from(await openSealKey(dir)).equals(key)).toBe(true);
    expect(Buffer.from(await openSealKey(join(root, 'others'))).equals(key)).toBe(false);
  });

  test('of another length, or open to others, is refused', async () => {
    const path = await place('seal.key', Buffer.alloc(16));
    await expect(openSealKey(dir)).rejects.toThrow(/exactly 32 bytes/);
    await chmod(path, 0o644);
    await expect(openSealKey(dir)).rejects.toThrow(/chmod 600/);
  });
});

test('a secret file that is there is never made again', async () => {
  const path = await place('x', 'first');
  const content = await ensureSecretFile(path, () => {
    throw new Error('must not be called');
  });
  expect(content.toString()).toBe('first');
});

test('a secret file that another process makes in the meantime is not replaced', async () => {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const content = await ensureSecretFile(join(dir, 'x'), async () => {
    await place('x', 'theirs');
    return Buffer.from('ours');
  });
  expect(content.toString()).toBe('theirs');
  expect(await readdir(dir)).toEqual(['x']);
});

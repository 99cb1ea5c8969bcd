import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSealKey } from './seal-key.ts';
import { ensurePrivateDirectory, ensureSecretFile } from './secret-file.ts';
import { placeKey, temporaryDirectory } from './tokens.fixture.ts';

let root: string;
let dir: string;
let remove: () => Promise<void>;

beforeEach(async () => {
  ({ dir: root, remove } = await temporaryDirectory());
  dir = join(root, 'keys');
});
afterEach(() => remove());

describe('the seal key', () => {
  test('32 random bytes, private, the same after a restart', async () => {
    const key = await openSealKey(dir);
    expect(key.length).toBe(32);
    expect((await stat(join(dir, 'seal.key'))).mode & 0o777).toBe(0o600);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    expect(Buffer.from(await openSealKey(dir)).equals(key)).toBe(true);
    expect(Buffer.from(await openSealKey(join(root, 'others'))).equals(key)).toBe(false);
  });

  test('of another length, or open to others, is refused', async () => {
    await mkdir(dir, { mode: 0o700 });
    const path = join(dir, 'seal.key');
    await writeFile(path, Buffer.alloc(16), { mode: 0o600 });
    await expect(openSealKey(dir)).rejects.toThrow(/exactly 32 bytes/);
    await chmod(path, 0o644);
    await expect(openSealKey(dir)).rejects.toThrow(/chmod 600/);
  });
});

test('A1: a directory that others may write is refused', async () => {
  await mkdir(dir);
  await chmod(dir, 0o777);
  await expect(ensurePrivateDirectory(dir)).rejects.toThrow(/Run: chmod 700/);
});

test('a secret file that is there is never made again', async () => {
  const path = await placeKey(dir, 'x', 'first');
  const content = await ensureSecretFile(path, () => {
    throw new Error('must not be called');
  });
  expect(content.toString()).toBe('first');
});

test('a secret file that another process makes in the meantime is not replaced', async () => {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const content = await ensureSecretFile(join(dir, 'x'), async () => {
    await placeKey(dir, 'x', 'theirs');
    return Buffer.from('ours');
  });
  expect(content.toString()).toBe('theirs');
  expect(await readdir(dir)).toEqual(['x']);
});

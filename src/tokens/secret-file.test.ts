import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensurePrivateDirectory, ensureSecretFile } from './secret-file.ts';
import { placeKey, temporaryDirectory } from './tokens.fixture.ts';

let dir: string;
let remove: () => Promise<void>;

beforeEach(async () => {
  const temporary = await temporaryDirectory();
  remove = temporary.remove;
  dir = join(temporary.dir, 'keys');
});
afterEach(() => remove());

test('a secret file is private, and open to others it is refused', async () => {
  await mkdir(dir, { mode: 0o700 });
  const path = join(dir, 'x');
  const made = await ensureSecretFile(path, () => Buffer.from('secret'));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await ensureSecretFile(path, () => Buffer.from('another'))).toEqual(made);
  await chmod(path, 0o644);
  await expect(ensureSecretFile(path, () => Buffer.from('another'))).rejects.toThrow(/chmod 600/);
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

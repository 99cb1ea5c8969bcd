import { chmod, chown, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { placeKey, temporaryDirectory } from '../tokens/tokens.fixture.ts';
import {
  ensurePrivateDirectory,
  ensureSecretFile,
  isOpenToOthers,
  replaceSecretFile,
  requireMountedSecret,
} from './secret-file.ts';

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

test('a secret file is replaced as a whole, and stays private', async () => {
  const path = await placeKey(dir, 'x', 'first');
  await replaceSecretFile(path, Buffer.from('second'));
  expect((await requireMountedSecret(path)).toString()).toBe('second');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await replaceSecretFile(join(dir, 'y'), Buffer.from('new'));
  expect((await readdir(dir)).sort()).toEqual(['x', 'y']);
  await expect(requireMountedSecret(join(dir, 'z'))).rejects.toThrow(/does not exist/);
});

// Only root can give a file to another user.
test.runIf(process.geteuid?.() === 0)('a file that root replaces stays that of its owner', async () => {
  const path = await placeKey(dir, 'x', 'first');
  await chown(path, 65532, 65531);
  await replaceSecretFile(path, Buffer.from('second'));
  expect(await stat(path)).toMatchObject({ uid: 65532, gid: 65531 });
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

test.each([
  ['0600, our own', { uid: 1000, gid: 1000, mode: 0o100600 }, false],
  ["0440, root's, in a group of ours: a secret that Kubernetes mounts", { uid: 0, gid: 65532, mode: 0o100440 }, false],
  ['0440, our own: we could close it', { uid: 65532, gid: 65532, mode: 0o100440 }, true],
  ["0440, root's, in a group that is not ours", { uid: 0, gid: 100, mode: 0o100440 }, true],
  ["0440, root's group: its members are other users", { uid: 0, gid: 0, mode: 0o100440 }, true],
  ['0460: the group could change it', { uid: 0, gid: 65532, mode: 0o100460 }, true],
  ['0444: everybody can read it', { uid: 0, gid: 65532, mode: 0o100444 }, true],
])('A1: %s', (_, found, open) => {
  expect(isOpenToOthers(found, [0, 65532])).toBe(open);
});

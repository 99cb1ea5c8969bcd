import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, test } from 'vitest';
import { placeKey, temporaryDirectory } from '../tokens/tokens.fixture.ts';
import {
  ensurePrivateDirectory,
  ensureSecretFile,
  isOpenToOthers,
  readSecretFile,
  replaceSecretFile,
  requireMountedSecret,
  UnsafeFile,
} from './secret-file.ts';

let dir: string;

beforeEach(() => {
  dir = join(temporaryDirectory(), 'keys');
});

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
  await expect(replaceSecretFile(join(dir, 'y'), Buffer.from('new'))).rejects.toThrow('ENOENT');
  expect(await readdir(dir)).toEqual(['x']);
  await expect(requireMountedSecret(join(dir, 'z'))).rejects.toThrow(/does not exist/);
});

// Only root can give a file to another user.
test.runIf(process.geteuid?.() === 0)('a file that root replaces stays that of its owner', async () => {
  const path = await placeKey(dir, 'x', 'first');
  await chown(path, 65532, 65531);
  await replaceSecretFile(path, Buffer.from('second'));
  expect(await stat(path)).toMatchObject({ uid: 65532, gid: 65531 });
});

test('A1: a link, a directory and a FIFO are refused, and none of them blocks', async () => {
  const path = await placeKey(dir, 'x', 'secret');
  await symlink(path, join(dir, 'link'));
  await mkdir(join(dir, 'folder'), { mode: 0o700 });
  await promisify(execFile)('mkfifo', ['-m', '600', join(dir, 'fifo')]);
  await expect(readSecretFile(join(dir, 'link'))).rejects.toThrow(UnsafeFile);
  await expect(readSecretFile(join(dir, 'link'))).rejects.toThrow('is a symbolic link');
  for (const name of ['folder', 'fifo']) {
    await expect(readSecretFile(join(dir, name)), name).rejects.toThrow('is not a regular file');
  }
  expect((await requireMountedSecret(join(dir, 'link'))).toString()).toBe('secret');
  await expect(replaceSecretFile(join(dir, 'link'), Buffer.from('x'))).rejects.toThrow('is not a regular file');
  expect((await readSecretFile(path))?.toString()).toBe('secret');
});

test.runIf(process.geteuid?.() === 0)('A1: a file of another user is refused', async () => {
  const path = await placeKey(dir, 'x', 'secret');
  await chown(path, 65532, 65532);
  await expect(readSecretFile(path)).rejects.toThrow('belongs to another user (uid 65532)');
});

test('a file of the limit is read, and one of a byte more is refused', async () => {
  const path = await placeKey(dir, 'x', 'secret');
  expect((await readSecretFile(path, { maxBytes: 6 }))?.toString()).toBe('secret');
  await expect(readSecretFile(path, { maxBytes: 5 })).rejects.toThrow('is too large: more than 5 bytes');
});

test.each([0o777, 0o770, 0o720, 0o702])('A1: a directory that others may write is refused: mode %o', async (mode) => {
  await mkdir(dir, { mode: 0o700 });
  await chmod(dir, mode);
  await expect(ensurePrivateDirectory(dir)).rejects.toThrow(`(mode 0${mode.toString(8)}). Run: chmod 700`);
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
  ['0444: all users can read it', { uid: 0, gid: 65532, mode: 0o100444 }, true],
])('A1: %s', (_, found, open) => {
  expect(isOpenToOthers(found, [0, 65532])).toBe(open);
});

import { spawnSync } from 'node:child_process';
import { chmod, chown, lstat, mkdir, mkdtemp, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { readPrivate, writePrivate } from './files.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-files-'));
  file = join(folder, 'logins.json');
});

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('a file with secrets', () => {
  test('is read if it is private, and may be missing', async () => {
    expect(await readPrivate(file)).toBeUndefined();
    await writeFile(file, 'secret', { mode: 0o600 });
    expect(await readPrivate(file)).toBe('secret');
    await chmod(file, 0o400);
    expect(await readPrivate(file)).toBe('secret');
  });

  test.each([0o640, 0o620, 0o604, 0o602, 0o601])('is refused with mode %o', async (mode) => {
    await writeFile(file, 'secret');
    await chmod(file, mode);
    await expect(readPrivate(file)).rejects.toThrow(`run: chmod 600 ${file}`);
  });

  test('is refused if it is a symbolic link or a folder', async () => {
    await writeFile(join(folder, 'target'), 'secret', { mode: 0o600 });
    await symlink(join(folder, 'target'), file);
    await expect(readPrivate(file)).rejects.toThrow(`cannot read ${file}`);
    await mkdir(join(folder, 'folder'), { mode: 0o700 });
    await expect(readPrivate(join(folder, 'folder'))).rejects.toThrow('is not a regular file');
  });

  test.runIf(process.geteuid?.() === 0)('is refused if it belongs to another user', async () => {
    await writeFile(file, 'secret', { mode: 0o600 });
    await chown(file, 65532, 65532);
    await expect(readPrivate(file)).rejects.toThrow('belongs to another user');
  });

  test.runIf(process.platform === 'linux')('is refused at once if it is a pipe without a writer', () => {
    expect(spawnSync('mkfifo', ['-m', '600', file]).status).toBe(0);
    // In another process: the call is synchronous, and would wait for ever.
    const module = JSON.stringify(new URL('files.ts', import.meta.url));
    const script = `const { readPrivate } = await import(${module}); await readPrivate(${JSON.stringify(file)})`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], { timeout: 60_000 });
    expect(String(child.stderr)).toContain('is not a regular file');
  });

  test('is written with mode 0600, in folders with mode 0700', async () => {
    const deep = join(folder, 'a/b/logins.json');
    await writePrivate(deep, 'secret');
    expect(await Promise.all([deep, join(folder, 'a/b'), join(folder, 'a')].map(modeOf))).toEqual([
      0o600, 0o700, 0o700,
    ]);
    expect(await readPrivate(deep)).toBe('secret');
  });

  test('replaces one that others could read, and the target of a link', async () => {
    const target = join(folder, 'target');
    await writeFile(target, 'old');
    await chmod(target, 0o644);
    await symlink(target, file);
    await writePrivate(file, 'new');
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
    expect([await readFile(target, 'utf8'), await modeOf(target)]).toEqual(['new', 0o600]);
  });

  test.runIf(process.geteuid?.() === 0)('is not taken from another user', async () => {
    await writeFile(file, 'old');
    await chown(file, 65532, 65533);
    await expect(writePrivate(file, 'new')).rejects.toThrow('the file belongs to another user (uid 65532)');
    expect(await readFile(file, 'utf8')).toBe('old');
  });

  test('does not replace a link to a file that does not exist', async () => {
    await symlink('absent/config', file);
    await expect(writePrivate(file, 'new')).rejects.toThrow('it is a link to absent/config, which does not exist');
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { withLock } from './file-lock.ts';

let folder: string;
let written = '';
const err = {
  write: (text: string): void => {
    written += text;
  },
};
beforeEach(async () => {
  written = '';
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-lock-'));
});

describe('a lock', () => {
  it('runs one task at a time and removes its file', async () => {
    const file = join(folder, 'deep/x');
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 5 }, () =>
        withLock(file, { waitMs: 60_000, err }, async () => {
          most = Math.max(most, ++inside);
          await delay(5);
          inside -= 1;
        }),
      ),
    );
    expect(most).toBe(1);
    expect(await readdir(join(folder, 'deep'))).toEqual([]);
  });

  it('is private, and so is the folder that it creates', async () => {
    const modes = await withLock(join(folder, 'deep/er/x'), { waitMs: 0, err }, () =>
      Promise.all(['deep', 'deep/er', 'deep/er/x.lock'].map(async (path) => (await stat(join(folder, path))).mode)),
    );
    expect(modes.map((mode) => mode & 0o777)).toEqual([0o700, 0o700, 0o600]);
  });

  it('says in words that a file is where a folder has to be', async () => {
    await writeFile(join(folder, 'file'), '');
    const expected = `cannot create ${join(folder, 'file/x.lock')}: there is a file where a directory has to be`;
    await expect(withLock(join(folder, 'file/x'), { waitMs: 0, err }, async () => 1)).rejects.toThrow(expected);
    await expect(withLock(join(folder, 'file/a/x'), { waitMs: 0, err }, async () => 1)).rejects.toThrow(
      'not a directory',
    );
  });

  it('is released when the task fails', async () => {
    const file = join(folder, 'x');
    const failing = withLock(file, { waitMs: 0, err }, async () => {
      throw new Error('task');
    });
    await expect(failing).rejects.toThrow('task');
    expect(await withLock(file, { waitMs: 0, err }, async () => 1)).toBe(1);
  });

  it('is released by an interrupt', async () => {
    const file = join(folder, 'x');
    const script = `
      const { withLock } = await import('${new URL('file-lock.ts', import.meta.url)}');
      withLock(${JSON.stringify(file)}, { err: process.stderr }, async () => {
        console.log('held');
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    expect(await readdir(folder)).toEqual(['x.lock']);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(['', 'something else'])('of another process (%j) is not removed, and the error names it', async (content) => {
    const file = join(folder, 'x');
    await writeFile(`${file}.lock`, content);
    const expected = `${file} is locked by another process; if none is running, remove ${file}.lock`;
    await expect(withLock(file, { waitMs: 0, err }, async () => 1)).rejects.toThrow(expected);
    expect(await readdir(folder)).toEqual(['x.lock']);
  });

  it('is removed when it is so old that its process was killed, unless it is one of kubectl', async () => {
    const file = join(folder, 'x');
    const old = new Date(Date.now() - 10 * 60_000);
    const leaveLock = async (mode: number): Promise<void> => {
      await writeFile(`${file}.lock`, '', { mode });
      await utimes(`${file}.lock`, old, old);
    };
    await leaveLock(0o600);
    expect(await withLock(file, { waitMs: 0, err }, async () => 1)).toBe(1);
    expect(await readdir(folder)).toEqual([]);
    await leaveLock(0);
    await expect(withLock(file, { waitMs: 0, err }, async () => 1)).rejects.toThrow('is locked by another process');
  });

  it('is not acquired when another process has made the result, and prints one message for a long wait', async () => {
    const file = join(folder, 'x');
    await writeFile(`${file}.lock`, '');
    let polls = 0;
    const read = async () => (++polls === 4 ? 'made' : undefined);
    const options = { waitMs: 60_000, noticeAfterMs: -1, err, read };
    expect(await withLock(file, options, async () => 'own')).toBe('made');
    expect(written).toBe(`Waiting for another process that has locked ${file}...\n`);
    expect(await readdir(folder)).toEqual(['x.lock']);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { ownerText, withLock } from './file-lock.ts';

let folder: string;
const err = { write: (): void => {} };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-lock-'));
});

/** The owner in the lock of a process that no longer runs. */
const endedOwner = (): Promise<string> => ownerText(spawnSync(process.execPath, ['-e', '0']).pid);

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
    expect(modes?.map((mode) => mode & 0o777)).toEqual([0o700, 0o700, 0o600]);
  });

  it('says in words that a file is where a folder has to be', async () => {
    await writeFile(join(folder, 'file'), '');
    const expected = `cannot create ${join(folder, 'file')}: there is a file where a directory has to be`;
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

  it('of a process that no longer runs is taken over by one process', async () => {
    const file = join(folder, 'x');
    const owner = await endedOwner();
    for (let round = 0; round < 200; round++) {
      await writeFile(`${file}.lock`, owner);
      let inside = 0;
      let most = 0;
      const tries = Array.from({ length: 8 }, () =>
        withLock(file, { waitMs: 0, err }, async () => {
          most = Math.max(most, ++inside);
          await delay(2);
          inside -= 1;
        }),
      );
      // The others may fail: they do not wait.
      await Promise.allSettled(tries);
      expect(most).toBe(1);
      expect(await readdir(folder)).toEqual([]);
    }
  });

  it('with the takeover file of a killed process is an error that names both files', async () => {
    const file = join(folder, 'x');
    for (const name of ['x.lock', 'x.lock.takeover']) await writeFile(join(folder, name), await endedOwner());
    const what = `remove ${file}.lock and ${file}.lock.takeover`;
    await expect(withLock(file, { waitMs: 0, err }, async () => 1)).rejects.toThrow(what);
  });

  it('has its owner from its first moment', async () => {
    const file = join(folder, 'x');
    const found: string[] = [];
    let isOver = false;
    const reader = (async () => {
      while (!isOver) {
        const text = await readFile(`${file}.lock`, 'utf8').catch(() => undefined);
        if (text !== undefined) found.push(text);
      }
    })();
    for (let round = 0; round < 200; round++) await withLock(file, { waitMs: 0, err }, async () => delay(1));
    isOver = true;
    await reader;
    expect(found.length).toBeGreaterThan(0);
    expect(found).not.toContain('');
  });
});

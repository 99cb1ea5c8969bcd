import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { ownerText, withLock } from './file-lock.ts';

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

  it('that another process has taken over is left to it', async () => {
    const file = join(folder, 'x');
    await withLock(file, { waitMs: 0, err }, () => writeFile(`${file}.lock`, 'of another'));
    expect(await readFile(`${file}.lock`, 'utf8')).toBe('of another');
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

  it.each([
    ['another machine', (fields: string[]) => fields.with(2, 'other'), false],
    ['another container on this machine', (fields: string[]) => fields.with(4, 'pid:[1]'), false],
    ['this machine before it was restarted', (fields: string[]) => fields.with(3, 'another-boot'), true],
  ])('of a process of %s', async (_, change, isTakenOver) => {
    const file = join(folder, 'x');
    await writeFile(`${file}.lock`, change((await endedOwner()).split(' ')).join(' '));
    const result = withLock(file, { waitMs: 0, err }, async () => 1);
    if (isTakenOver) expect(await result).toBe(1);
    else await expect(result).rejects.toThrow(/is locked by another process/);
  });

  it('that is empty is removed after some seconds, unless kubectl has created it', async () => {
    const file = join(folder, 'x');
    const old = new Date(Date.now() - 60_000);
    await writeFile(`${file}.lock`, '', { mode: 0o600 });
    await utimes(`${file}.lock`, old, old);
    expect(await withLock(file, { waitMs: 0, err }, async () => 1)).toBe(1);
    await writeFile(`${file}.lock`, '');
    await chmod(`${file}.lock`, 0);
    await utimes(`${file}.lock`, old, old);
    await expect(withLock(file, { waitMs: 0, err }, async () => 1)).rejects.toThrow(/is locked by another process/);
  });

  it.each(['', 'something else'])('of another program (%j) is not removed', async (content) => {
    const file = join(folder, 'x');
    await writeFile(`${file}.lock`, content);
    await expect(withLock(file, { waitMs: 0, err }, async () => 1)).rejects.toThrow(/is locked by another process/);
    expect(await readdir(folder)).toEqual(['x.lock']);
  });

  it('prints one message for a long wait', async () => {
    const file = join(folder, 'x');
    await writeFile(`${file}.lock`, await ownerText(process.pid));
    let polls = 0;
    const options = { waitMs: 60_000, noticeAfterMs: -1, err, done: async () => ++polls === 4 };
    await withLock(file, options, async () => 1);
    expect(written).toBe(`Waiting for another process that has locked ${file}...\n`);
  });

  it('is not acquired when the work is done meanwhile', async () => {
    const file = join(folder, 'x');
    await writeFile(`${file}.lock`, await ownerText(process.pid));
    let polls = 0;
    const options = { waitMs: 60_000, noticeAfterMs: 60_000, err, done: async () => ++polls === 2 };
    expect(await withLock(file, options, async () => 1)).toBeUndefined();
    expect(written).toBe('');
  });
});

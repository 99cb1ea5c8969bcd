import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdtemp, open, readdir, readFile, readlink, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { AuditFile, type AuditFileOptions } from './audit-file.ts';

const DAY = 86_400_000;
let dir: string;
let path: string;
/** The wall clock and the monotonic clock. */
let now: number;
let passed: number;
const problems: unknown[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-audit-'));
  path = join(dir, 'audit.log');
  now = Date.now();
  passed = 0;
  problems.length = 0;
});

const fileWith = (options: Partial<AuditFileOptions> = {}): AuditFile =>
  new AuditFile({
    path,
    maxBytes: 100,
    maxAgeMs: 0,
    maxBackups: 0,
    now: () => now,
    monotonicNow: () => passed,
    isSteady: () => true,
    onProblem: (problem) => problems.push(problem),
    ...options,
  });
const EMPTY = { buffer: Buffer.alloc(0), bytesRead: 0 };
const line = (text: string): Buffer => Buffer.from(`${text}\n`);
const backups = async (): Promise<string[]> => (await readdir(dir)).filter((name) => name !== 'audit.log').sort();
const contentOf = (name: string): Promise<string> => readFile(join(dir, name), 'utf8');

/** The open descriptors of this process in the folder of the test. */
async function descriptors(): Promise<string[]> {
  const open = await readdir('/proc/self/fd');
  const targets = await Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return open.filter((_, index) => targets[index]?.startsWith(dir));
}

test('A9: a write returns when it is on the disk', async () => {
  const file = fileWith();
  await file.append(line('one'));
  const [fd] = await descriptors();
  const flags = /^flags:\s+([0-7]+)$/m.exec(await readFile(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
  expect(Number.parseInt(flags ?? '', 8) & constants.O_DSYNC).toBe(constants.O_DSYNC);
  await file.close();
});

test('appends to a file that only this user can read, and continues in it', async () => {
  const nested = join(dir, 'a', 'b', 'audit.log');
  const first = fileWith({ path: nested });
  await first.append(line('one'));
  await first.close();
  const second = fileWith({ path: nested });
  await second.append(line('two'));
  await second.close();
  expect(await readFile(nested, 'utf8')).toBe('one\ntwo\n');
  expect((await stat(nested)).mode & 0o777).toBe(0o600);
  expect((await stat(join(dir, 'a', 'b'))).mode & 0o777).toBe(0o700);
});

test('a line that a power failure left unfinished does not spoil the next', async () => {
  await writeFile(path, '{"whole":1}\n{"half":');
  const file = fileWith();
  await file.append(line('{"next":1}'));
  await file.append(line('{"last":1}'));
  await file.close();
  expect(await readFile(path, 'utf8')).toBe('{"whole":1}\n{"half":\n{"next":1}\n{"last":1}\n');
});

describe('putting aside', () => {
  test('by size, with the time in the name, and never in the middle of an append', async () => {
    const file = fileWith();
    await file.append(line('a'.repeat(59)));
    now = Date.UTC(2030, 0, 2, 3, 4, 5, 6);
    await file.append(line('b'.repeat(59)));
    // The same millisecond: the name is taken.
    await file.append(line('c'.repeat(200)));
    await file.close();
    expect(await backups()).toEqual(['audit-2030-01-02T03-04-05.006.log', 'audit-2030-01-02T03-04-05.007.log']);
    expect(await contentOf('audit-2030-01-02T03-04-05.006.log')).toBe(`${'a'.repeat(59)}\n`);
    expect(await contentOf('audit.log')).toBe(`${'c'.repeat(200)}\n`);
  });

  test('keeps a number of files', async () => {
    const file = fileWith({ maxBackups: 2 });
    await writeFile(join(dir, 'audit-notes.log'), 'not ours');
    for (const letter of 'abcde') {
      now += 1000;
      await file.append(line(letter.repeat(80)));
    }
    await file.close();
    const kept = await backups();
    expect(kept).toHaveLength(3);
    expect(kept).toContain('audit-notes.log');
    expect(await contentOf(kept[0] ?? '')).toBe(`${'c'.repeat(80)}\n`);
  });
});

describe('sharing', () => {
  test('two processes with one file lose no line when it is rotated', async () => {
    const [one, two] = [fileWith(), fileWith()];
    for (let round = 0; round < 20; round++) {
      now += 1000;
      passed += 1000;
      await Promise.all([one.append(line(`one ${round}`)), two.append(line(`two ${round}`))]);
    }
    await one.close();
    await two.close();
    const texts = await Promise.all((await readdir(dir)).map(contentOf));
    const lines = texts.join('').split('\n').filter(Boolean);
    const rounds = Array.from({ length: 20 }, (_, round) => [`one ${round}`, `two ${round}`]).flat();
    expect(lines.sort()).toEqual(rounds.sort());
    expect(texts.length).toBeGreaterThan(2);
  });

  test('processes that rotate a file at the same moment have no problem, and lose no line', async () => {
    for (let round = 0; round < 20; round++) {
      const sharing = Array.from({ length: 4 }, () => fileWith());
      await Promise.all(sharing.map((file) => file.append(line('a'.repeat(29)))));
      await Promise.all(sharing.map((file) => file.append(line('b'.repeat(29)))));
      for (const file of sharing) await file.close();
    }
    expect(problems).toEqual([]);
    const texts = await Promise.all((await readdir(dir)).map(contentOf));
    expect(texts.join('').split('\n').filter(Boolean)).toHaveLength(20 * 8);
  });
});

test('A9: a full disk is an error, and when there is room again nothing has to be reopened', async () => {
  await symlink('/dev/full', path);
  const file = fileWith();
  await file.open();
  await expect(file.append(line('lost'))).rejects.toMatchObject({ code: 'ENOSPC' });
  await unlink(path);
  await file.append(line('kept'));
  await file.close();
  expect(await readFile(path, 'utf8')).toBe('kept\n');
});

test('A9: a line of which only a part fits on the disk is removed, so that the next one is whole', async () => {
  // The limit of a process for the size of a file: the kernel writes what fits, then fails.
  const program = `
    const { AuditFile } = await import(${JSON.stringify(new URL('audit-file.ts', import.meta.url))});
    const options = { maxBytes: 1e6, maxAgeMs: 0, maxBackups: 0, now: Date.now, monotonicNow: () => performance.now(),
      isSteady: () => true, onProblem() {} };
    const file = new AuditFile({ path: process.argv[1], ...options });
    await file.append(Buffer.from('first\\n'));
    await file.append(Buffer.from('x'.repeat(5_000) + '\\n')).catch(({ code }) => console.log(code));
    await file.append(Buffer.from('last\\n'));`;
  const limited = ['-c', 'ulimit -f 1 && exec "$@"', 'sh', process.execPath];
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)('sh', [...limited, '--input-type=module', '-e', program, path], { env });
  expect([stdout, await readFile(path, 'utf8')]).toEqual(['EFBIG\n', 'first\nlast\n']);
});

test('A9: opening removes old backups and nothing else, and a path that cannot be written is an error', async () => {
  await writeFile(join(dir, 'audit-2020-01-01T00-00-00.000.log'), 'old\n');
  const others = ['admin-2020-01-01T00-00-00.000.log', 'audit-notes.log', 'audit.log'];
  for (const name of others) await writeFile(join(dir, name), 'not a backup\n');
  const file = fileWith({ maxAgeMs: DAY });
  await file.open();
  await file.close();
  expect((await readdir(dir)).sort()).toEqual(others);
  await expect(fileWith({ path: join(path, 'below-a-file') }).open()).rejects.toMatchObject({
    code: expect.stringMatching(/^(?:ENOTDIR|EEXIST)$/),
  });
});

test('A9: a pipe that is not read is an error after a while, and no line of the next ones is spoilt', async () => {
  await promisify(execFile)('mkfifo', [path]);
  const reader = await open(path, constants.O_RDWR | constants.O_NONBLOCK);
  const file = fileWith();
  await file.open();
  // More than a pipe holds, so that a part of it is written.
  const [whole, half] = [line('a'.repeat(50_000)), line('b'.repeat(50_000))];
  await file.append(whole);
  await expect(file.append(half)).rejects.toMatchObject({ code: 'EAGAIN' });
  const read = (await reader.read(Buffer.alloc(200_000))).buffer.toString().replaceAll('\0', '');
  await file.append(line('c'));
  const { buffer, bytesRead } = await reader.read(Buffer.alloc(200_000));
  const [first, second, ...rest] = (read + buffer.toString('utf8', 0, bytesRead)).split('\n');
  expect(`${first}\n`).toBe(whole.toString());
  expect(second).toMatch(/^b+$/);
  expect(rest).toEqual(['c', '']);
  await file.close();
  await reader.close();
});

test('A9: a pipe that is read late gets the whole line', async () => {
  await promisify(execFile)('mkfifo', [path]);
  const reader = await open(path, constants.O_RDWR | constants.O_NONBLOCK);
  const file = fileWith();
  const [first, second] = [line('a'.repeat(50_000)), line('b'.repeat(50_000))];
  await file.append(first);
  const appended = file.append(second);
  // The second line does not fit, so its append waits for this reader.
  await delay(5);
  let received = '';
  while (received.length < first.length + second.length) {
    const { buffer, bytesRead } = await reader.read(Buffer.alloc(65_536)).catch(() => EMPTY);
    received += buffer.toString('utf8', 0, bytesRead);
    await delay(1);
  }
  await appended;
  expect(received).toBe(`${first}${second}`);
  await file.close();
  await reader.close();
});

test('B31: removes no file by its age while the clock may be wrong', async () => {
  const isSteady = { now: false };
  const file = fileWith({ maxAgeMs: 86_400_000, isSteady: () => isSteady.now });
  for (const text of ['one', 'two']) {
    await file.append(line(text.padEnd(99)));
    now += 1_000;
  }
  expect(await backups()).toHaveLength(1);
  now += 3 * 86_400_000;
  await file.append(line('three'.padEnd(99)));
  expect(await backups()).toHaveLength(2);
  isSteady.now = true;
  await file.append(line('four'.padEnd(99)));
  expect((await backups()).length).toBeLessThan(3);
  await file.close();
});

import { chmod, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type FollowedFiles, followFiles, GONE_GRACE_MS } from './follow-files.ts';
import { readMountedSecret } from './secret-file.ts';

let dir: string;
let file: string;
let now: number;
let reports: string[];
let changes: string[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-follow-'));
  file = join(dir, 'x');
  now = 0;
  reports = [];
  changes = [];
  await writeFile(file, 'first', { mode: 0o600 });
});

const open = (graceMs = GONE_GRACE_MS): Promise<FollowedFiles<string>> =>
  followFiles({
    what: `token file ${file}`,
    files: [file],
    read: async () => (await readMountedSecret(file))?.toString(),
    every: () => () => {},
    report: (problem) => reports.push(problem),
    use: (value) => changes.push(value),
    whenGone: { value: 'nothing', graceMs },
    monotonicNow: () => now,
  });

test('A1: the content of a file that is gone counts for a minute, and no longer', async () => {
  const followed = await open();
  await rm(file);
  await followed.refresh();
  now = 59_999;
  await followed.refresh();
  expect([followed.current(), followed.isGone()]).toEqual(['first', false]);
  now = 60_000;
  await followed.refresh();
  await followed.refresh();
  expect([followed.current(), followed.isGone(), changes]).toEqual(['nothing', true, ['first', 'nothing']]);
  expect(reports).toEqual([
    `token file ${file} is gone; its previous content stays in force for 60 seconds`,
    `token file ${file} is gone; its previous content is no longer in force`,
  ]);
});

test('a file that comes back counts at once, before and after the end of the grace', async () => {
  const followed = await open();
  for (const [text, away] of [
    ['second', 1],
    ['third', 3_600_000],
  ] as const) {
    await rm(file);
    await followed.refresh();
    now += away;
    await followed.refresh();
    await writeFile(file, text, { mode: 0o600 });
    await followed.refresh();
    expect([followed.current(), followed.isGone()]).toEqual([text, false]);
  }
  now += 3_600_000;
  await followed.refresh();
  expect(followed.current()).toBe('third');
});

test('without a grace the content ends when the absence is seen', async () => {
  const followed = await open(0);
  await rename(file, `${file}.away`);
  await followed.refresh();
  expect([followed.current(), reports]).toEqual([
    'nothing',
    [`token file ${file} is gone; its previous content is no longer in force`],
  ]);
});

test('A1: a file that becomes invalid is reported, and its previous content counts for a minute', async () => {
  const followed = await open();
  await writeFile(file, 'second');
  await chmod(file, 0o644);
  await followed.refresh();
  await followed.refresh();
  expect([followed.current(), followed.isGone()]).toEqual(['first', false]);
  now = 60_000;
  await followed.refresh();
  expect([followed.current(), followed.isGone()]).toEqual(['nothing', true]);
  expect(reports).toEqual([
    expect.stringMatching(/chmod 600 .*; its previous content stays in force for 60 seconds$/),
    expect.stringMatching(/chmod 600 .*; its previous content is no longer in force$/),
  ]);
  await chmod(file, 0o600);
  await followed.refresh();
  expect([followed.current(), followed.isGone()]).toEqual(['second', false]);
});

test('A1: without a grace, invalid content ends the previous one when it is seen', async () => {
  const followed = await open(0);
  await writeFile(file, 'second');
  await chmod(file, 0o644);
  await followed.refresh();
  expect(followed.current()).toBe('nothing');
  expect(reports).toEqual([expect.stringMatching(/chmod 600 .*; its previous content is no longer in force$/)]);
});

test('a failure to read is tried again at every poll, and reported once', async () => {
  let failures = 2;
  const followed = await followFiles<string>({
    what: `token file ${file}`,
    files: [file],
    read: async () => {
      const text = (await readMountedSecret(file))?.toString();
      if (text !== 'first' && failures-- > 0) throw new Error('too many open files');
      return text;
    },
    every: () => () => {},
    report: (problem) => reports.push(problem),
    whenGone: { value: 'nothing', graceMs: GONE_GRACE_MS },
    monotonicNow: () => now,
  });
  await writeFile(file, 'second');
  await followed.refresh();
  await followed.refresh();
  expect([followed.current(), followed.isGone()]).toEqual(['first', false]);
  await followed.refresh();
  expect([followed.current(), followed.isGone()]).toEqual(['second', false]);
  expect(reports).toEqual(['too many open files; its previous content stays in force for 60 seconds']);
});

test('a file that does not exist stops the start', async () => {
  await rm(file);
  await expect(open()).rejects.toThrow(`token file ${file} cannot be read`);
});

test('a pair that does not match is reported once, and the one in use stays until the other half is written', async () => {
  const other = join(dir, 'y');
  await writeFile(other, 'first');
  const followed = await followFiles<string>({
    what: 'pair',
    files: [file, other],
    read: async () => {
      const [a, b] = await Promise.all([file, other].map((each) => readFile(each, 'utf8')));
      if (a !== b) throw new Error('the two do not match');
      return a;
    },
    isSame: (a, b) => a === b,
    use: (value) => changes.push(value),
    report: (problem) => reports.push(problem),
  });
  await writeFile(file, 'second');
  await followed.refresh();
  await followed.refresh();
  expect([followed.current(), followed.isGone(), reports]).toEqual(['first', false, ['the two do not match']]);
  // Back to what is in use: nothing to do.
  await writeFile(file, 'first');
  await followed.refresh();
  expect(changes).toEqual(['first']);
  await writeFile(file, 'second');
  await writeFile(other, 'second');
  await followed.refresh();
  followed.close();
  expect([followed.current(), changes]).toEqual(['second', ['first', 'second']]);
});

test('a mounted Secret of Kubernetes, whose symbolic link is swapped, is read again', async () => {
  const mount = async (version: string): Promise<void> => {
    await mkdir(join(dir, version));
    await writeFile(join(dir, version, 'token'), version, { mode: 0o600 });
    await symlink(version, join(dir, '..data_tmp'));
    await rename(join(dir, '..data_tmp'), join(dir, '..data'));
  };
  await mount('v1');
  await rm(file);
  await symlink('..data/token', file);
  const followed = await open();
  await mount('v2');
  await rm(join(dir, 'v1'), { recursive: true });
  await followed.refresh();
  expect(followed.current()).toBe('v2');
});

test('after close() nothing comes into use any more', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  let reads = 0;
  const followed = await followFiles<string>({
    what: 'file',
    files: [file],
    read: async () => (++reads === 1 ? 'first' : promise),
    use: (value) => changes.push(value),
    report: (problem) => reports.push(problem),
  });
  await writeFile(file, 'second');
  const refreshed = followed.refresh();
  followed.close();
  resolve('second');
  await refreshed;
  expect(changes).toEqual(['first']);
});

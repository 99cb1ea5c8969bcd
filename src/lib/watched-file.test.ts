import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readMountedSecret } from './secret-file.ts';
import { GONE_GRACE_MS, openWatchedFile, type WatchedFile } from './watched-file.ts';

let dir: string;
let file: string;
let now: number;
let reports: string[];
let changes: string[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-watched-'));
  file = join(dir, 'x');
  now = 0;
  reports = [];
  changes = [];
  await writeFile(file, 'first', { mode: 0o600 });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const open = (graceMs = GONE_GRACE_MS): Promise<WatchedFile<string>> =>
  openWatchedFile({
    what: 'token file',
    file,
    read: async () => (await readMountedSecret(file))?.toString(),
    every: () => () => {},
    report: (problem) => reports.push(problem),
    onChange: (value) => changes.push(value),
    whenGone: { value: 'nothing', graceMs },
    monotonicNow: () => now,
  });

test('A1: the content of a file that is gone counts for a minute, and no longer', async () => {
  const watched = await open();
  await rm(file);
  await watched.refresh();
  now = 59_999;
  await watched.refresh();
  expect([watched.current(), watched.isGone()]).toEqual(['first', false]);
  now = 60_000;
  await watched.refresh();
  await watched.refresh();
  expect([watched.current(), watched.isGone(), changes]).toEqual(['nothing', true, ['nothing']]);
  expect(reports).toEqual([
    `token file ${file} is gone; its previous content stays in force for 60 seconds`,
    `token file ${file} is gone; its previous content is no longer in force`,
  ]);
});

test('a file that comes back counts at once, before and after the end of the grace', async () => {
  const watched = await open();
  for (const [text, away] of [
    ['second', 1],
    ['third', 3_600_000],
  ] as const) {
    await rm(file);
    await watched.refresh();
    now += away;
    await watched.refresh();
    await writeFile(file, text, { mode: 0o600 });
    await watched.refresh();
    expect([watched.current(), watched.isGone()]).toEqual([text, false]);
  }
  now += 3_600_000;
  await watched.refresh();
  expect(watched.current()).toBe('third');
});

test('the grace does not begin again while the file stays away, nor with a file that cannot be used', async () => {
  const watched = await open();
  await rm(file);
  await watched.refresh();
  now = 59_000;
  await writeFile(file, 'for all to read');
  await chmod(file, 0o644);
  await watched.refresh();
  expect(watched.current()).toBe('first');
  now = 60_000;
  await watched.refresh();
  expect([watched.current(), watched.isGone()]).toEqual(['nothing', true]);
});

test('without a grace the content ends when the absence is seen', async () => {
  const watched = await open(0);
  await rename(file, `${file}.away`);
  await watched.refresh();
  expect([watched.current(), reports]).toEqual([
    'nothing',
    [`token file ${file} is gone; its previous content is no longer in force`],
  ]);
});

test('A1: a file that becomes invalid is reported, and its previous content counts for a minute', async () => {
  const watched = await open();
  await writeFile(file, 'second');
  await chmod(file, 0o644);
  await watched.refresh();
  await watched.refresh();
  expect([watched.current(), watched.isGone()]).toEqual(['first', false]);
  now = 60_000;
  await watched.refresh();
  expect([watched.current(), watched.isGone()]).toEqual(['nothing', true]);
  expect(reports).toEqual([
    expect.stringMatching(/chmod 600 .*; its previous content stays in force for 60 seconds$/),
    expect.stringMatching(/chmod 600 .*; its previous content is no longer in force$/),
  ]);
  await chmod(file, 0o600);
  await watched.refresh();
  expect([watched.current(), watched.isGone()]).toEqual(['second', false]);
});

test('the last second of its previous content is one second', async () => {
  const watched = await open();
  await rm(file);
  await watched.refresh();
  await writeFile(file, 'second', { mode: 0o644 });
  now = 59_500;
  await watched.refresh();
  expect(reports.at(-1)).toMatch(/; its previous content stays in force for 1 second$/);
});

test('A1: without a grace, invalid content ends the previous one when it is seen', async () => {
  const watched = await open(0);
  await writeFile(file, 'second');
  await chmod(file, 0o644);
  await watched.refresh();
  expect(watched.current()).toBe('nothing');
  expect(reports).toEqual([expect.stringMatching(/chmod 600 .*; its previous content is no longer in force$/)]);
});

test('a failure to read is tried again at every poll, and reported once', async () => {
  let failures = 2;
  const watched = await openWatchedFile({
    what: 'token file',
    file,
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
  await watched.refresh();
  await watched.refresh();
  expect([watched.current(), watched.isGone()]).toEqual(['first', false]);
  await watched.refresh();
  expect([watched.current(), watched.isGone()]).toEqual(['second', false]);
  expect(reports).toEqual(['too many open files; its previous content stays in force for 60 seconds']);
});

test('a file that does not exist stops the start', async () => {
  await rm(file);
  await expect(open()).rejects.toThrow(`token file ${file} cannot be read`);
});

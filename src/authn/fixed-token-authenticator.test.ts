import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { Secret } from '../observability/secret.ts';
import {
  ensureTokenFile,
  type FixedTokenAuthenticator,
  openAdminToken,
  rotateAdminToken,
} from './fixed-token-authenticator.ts';

let dir: string;
let data: string;
let file: string;
let reports: string[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-admin-'));
  data = join(dir, 'data');
  file = join(data, 'admin.token');
  reports = [];
});

const open = (): Promise<FixedTokenAuthenticator> =>
  openAdminToken(data, { every: () => () => {}, report: (problem) => reports.push(problem) });
const token = async (): Promise<Secret> => new Secret((await readFile(file, 'utf8')).trim());

test('the admin token is made once, 32 random bytes, for its owner alone', async () => {
  const admin = await open();
  const text = await readFile(file, 'utf8');
  expect(text).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const caller = await admin.authenticateToken(new Secret(text.trim()));
  expect(caller?.as('any')).toEqual({
    name: 'admin',
    uid: '',
    groups: ['system:masters', 'system:authenticated'],
    extra: {},
  });
  expect(caller?.isLive()).toBe(true);
  await open();
  expect(await readFile(file, 'utf8')).toBe(text);
});

test('A24: any other token is unknown, whatever its length', async () => {
  const admin = await open();
  const text = (await readFile(file, 'utf8')).trim();
  for (const wrong of ['', 'x', text.slice(1), `${text}x`, text.toUpperCase(), `${text}\n`]) {
    expect(await admin.authenticateToken(new Secret(wrong))).toBeUndefined();
  }
});

test('A1: a rotated token is accepted, the old one is refused, and its caller ends', async () => {
  const admin = await open();
  const old = await token();
  const caller = await admin.authenticateToken(old);
  expect(await rotateAdminToken(data)).toBe(file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(data)).toEqual(['admin.token']);
  await admin.refresh();
  expect([await admin.authenticateToken(old), caller?.isLive()]).toEqual([undefined, false]);
  expect((await admin.authenticateToken(await token()))?.isLive()).toBe(true);
});

test('A1: without its file the admin token is refused, until there is one again', async () => {
  const admin = await open();
  const old = await token();
  const caller = await admin.authenticateToken(old);
  await rm(file);
  await admin.refresh();
  expect([await admin.authenticateToken(old), caller?.isLive()]).toEqual([undefined, false]);
  for (const wrong of ['', 'undefined']) expect(await admin.authenticateToken(new Secret(wrong))).toBeUndefined();
  await writeFile(file, `${'x'.repeat(32)}\n`, { mode: 0o600 });
  await admin.refresh();
  expect(await admin.authenticateToken(await token())).toBeDefined();
  expect(await admin.authenticateToken(old)).toBeUndefined();
});

test.each(['', '\n', 'canary', 'canary-canary-canary\ncanary-canary-canary\n'])(
  'A1: a file with %j while running is reported, and no token of it is accepted',
  async (content) => {
    const admin = await open();
    const old = await token();
    const caller = await admin.authenticateToken(old);
    await writeFile(file, content);
    await admin.refresh();
    expect([await admin.authenticateToken(old), caller?.isLive()]).toEqual([undefined, false]);
    for (const wrong of ['', 'undefined', content]) {
      expect(await admin.authenticateToken(new Secret(wrong))).toBeUndefined();
    }
    expect(reports).toEqual([
      expect.stringMatching(/must hold one token .*; its previous content is no longer in force$/),
    ]);
    expect(reports.join()).not.toContain('canary');
    await writeFile(file, `${old.reveal()}\n`);
    await admin.refresh();
    expect(await admin.authenticateToken(old)).toBeDefined();
  },
);

test('A1: a file that others can read while running is reported, and its token is refused', async () => {
  const admin = await open();
  const old = await token();
  await chmod(file, 0o644);
  await admin.refresh();
  expect(await admin.authenticateToken(old)).toBeUndefined();
  expect(reports).toEqual([expect.stringContaining('chmod 600')]);
});

test('a rotation does not follow a link, and makes neither a data directory nor a first token', async () => {
  await expect(rotateAdminToken(data)).rejects.toThrow(/ENOENT/);
  await mkdir(data);
  await expect(rotateAdminToken(data)).rejects.toThrow(/ENOENT/);
  expect(await readdir(data)).toEqual([]);
  await writeFile(join(dir, 'mounted'), 'x', { mode: 0o600 });
  await symlink(join(dir, 'mounted'), file);
  await expect(rotateAdminToken(data)).rejects.toThrow(/not a regular file/);
  expect(await readdir(data)).toEqual(['admin.token']);
});

test('a file that is open to others, or holds no usable token, stops the start without showing it', async () => {
  await ensureTokenFile(file);
  await chmod(file, 0o644);
  await expect(ensureTokenFile(file)).rejects.toThrow(/chmod 600/);
  for (const content of ['', '\n', 'canary', 'canary canary canary canary', 'canary-canary-canary\n\n']) {
    await rm(file);
    await writeFile(file, content, { mode: 0o600 });
    await expect(ensureTokenFile(file)).rejects.toThrow(/must hold one token/);
    await expect(ensureTokenFile(file)).rejects.not.toThrow(/canary/);
  }
});

test('a token that the operator chose is used unchanged', async () => {
  await ensureTokenFile(file);
  await writeFile(file, 'chosen-by-the-operator\n');
  expect((await ensureTokenFile(file)).reveal()).toBe('chosen-by-the-operator');
});

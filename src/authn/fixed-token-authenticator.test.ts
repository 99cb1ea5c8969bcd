import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Secret } from '../observability/secret.ts';
import { ensureTokenFile, loadAdminToken } from './fixed-token-authenticator.ts';

let dir: string;
let file: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-admin-'));
  file = join(dir, 'data', 'admin.token');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test('the admin token is made once, 32 random bytes, for its owner alone', async () => {
  const admin = await loadAdminToken(join(dir, 'data'));
  const text = await readFile(file, 'utf8');
  expect(text).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const caller = await admin.authenticateToken(new Secret(text.trim()));
  expect(caller?.as('any')).toEqual({
    name: 'admin',
    uid: '',
    groups: ['system:masters', 'system:authenticated'],
    extra: {},
  });
  expect(caller?.isLive()).toBe(true);
  await loadAdminToken(join(dir, 'data'));
  expect(await readFile(file, 'utf8')).toBe(text);
});

test('A24: any other token is unknown, whatever its length', async () => {
  const admin = await loadAdminToken(join(dir, 'data'));
  const text = (await readFile(file, 'utf8')).trim();
  for (const wrong of ['', 'x', text.slice(1), `${text}x`, text.toUpperCase(), `${text}\n`]) {
    expect(await admin.authenticateToken(new Secret(wrong))).toBeUndefined();
  }
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

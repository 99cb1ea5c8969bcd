import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

/** A clone without test programs, on a machine that cannot download them. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'clusterpass-clone-'));
  const clone = join(folder, 'clone');
  mkdirSync(clone);
  for (const part of ['scripts', 'bin']) cpSync(join(ROOT, part), join(clone, part), { recursive: true });
  for (const file of ['package.json', 'CHANGELOG.md']) copyFileSync(join(ROOT, file), join(clone, file));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});

it.each([
  ['an unknown option', [manifest.version, '--platform', 'linux-amd64'], /^release: Unknown option '--platform'.*\n$/],
  ['no version', [], /^release: which version\? .*\n$/],
  ['two versions', [manifest.version, '9.9.9'], /^release: one version only.*\n$/],
  ['another version', ['9.9.9'], /^release: .* run npm version 9\.9\.9 first\n$/],
  ['an unknown platform', [manifest.version, '--platforms', 'x'], /^release: unknown platform "x": expected .*\n$/],
])('%s is refused in one line, before anything is downloaded', (_, args, message) => {
  const script = join(folder, 'clone/scripts/release.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', env: { PATH: '' } });
  expect(stderr).toMatch(message);
  expect(status).toBe(1);
});

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
  ['no version', [], /^release: expected one version: .*\n$/],
  ['an option', [manifest.version, '--platforms'], /^release: expected one version: .*\n$/],
  ['another version', ['9.9.9'], /^release: .* run npm version 9\.9\.9 first\n$/],
])('%s is refused in one line, before anything is downloaded', (_, args, message) => {
  const script = join(folder, 'clone/scripts/release.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', env: { PATH: '' } });
  expect(stderr).toMatch(message);
  expect(status).toBe(1);
});

import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../run-command.mjs';
import { ROOT } from '../setup.mjs';

/**
 * Builds the npm package and returns the path of its tarball.
 * @param {string} folder
 * @param {{ typesChecked?: boolean }} [options] `typesChecked`: the build does not check types again
 */
export function pack(folder, { typesChecked = false } = {}) {
  const args = ['pack', '--pack-destination', folder, '--loglevel=error'];
  const printed = execFileSync('npm', args, {
    cwd: ROOT,
    env: { ...process.env, CLUSTERPASS_TYPES_CHECKED: String(typesChecked) },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return join(folder, printed.trim().split('\n').at(-1) ?? '');
}

/**
 * The package as npm installs it, by the versions of the lock file.
 * @param {string} program an empty folder, or none
 * @param {string} tarball made by `npm pack`
 */
export function installProgram(program, tarball) {
  mkdirSync(program, { recursive: true });
  run('tar', ['-xzf', tarball, '--strip-components=1', '-C', program]);
  copyFileSync(join(ROOT, 'package-lock.json'), join(program, 'package-lock.json'));
  copyFileSync(join(ROOT, '.npmrc'), join(program, '.npmrc'));
  const flags = ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  const { status, stderr } = spawnSync('npm', flags, { cwd: program, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm ci of the package failed:\n${stderr}`);
  for (const file of ['node_modules/.package-lock.json', 'package-lock.json', '.npmrc']) rmSync(join(program, file));
  // npm would report packages for development as missing.
  const {
    devDependencies: _,
    scripts: __,
    ...manifest
  } = JSON.parse(readFileSync(join(program, 'package.json'), 'utf8'));
  writeFileSync(join(program, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

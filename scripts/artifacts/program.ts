import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../run-command.ts';
import { ROOT } from '../setup.mjs';

/** Builds the npm package and returns the path of its tarball. */
export function pack(folder: string): string {
  const printed = run('npm', ['pack', '--pack-destination', folder, '--loglevel=error'], { cwd: ROOT });
  return join(folder, printed.trim().split('\n').at(-1) ?? '');
}

/** Unpacks a tarball of `npm pack` in a folder, with the dependencies in the versions of the lock file. */
export function installProgram(program: string, tarball: string): void {
  mkdirSync(program, { recursive: true });
  run('tar', ['-xzf', tarball, '--strip-components=1', '-C', program]);
  const lent = ['package-lock.json', '.npmrc'];
  for (const file of lent) copyFileSync(join(ROOT, file), join(program, file));
  const flags = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  run('npm', ['ci', ...flags], { cwd: program });
  for (const file of ['node_modules/.package-lock.json', ...lent]) rmSync(join(program, file));
  // npm would report packages for development as missing.
  const path = join(program, 'package.json');
  const { devDependencies: _, scripts: __, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, `${JSON.stringify(manifest, undefined, 2)}\n`);
}

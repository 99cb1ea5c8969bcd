import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Where the packages that it needs are found, and nothing else looks. */
const PLACE = join(ROOT, 'node_modules/.cache/clusterpass-bench');

let launcher: string | undefined;

/**
 * What an operator runs: the launcher of the package, with the program built from these sources. Run as they are, Node's
 * stripping of types would be in the figures for memory and for a start.
 */
export function builtProgram(): string {
  if (launcher !== undefined) return launcher;
  rmSync(PLACE, { recursive: true, force: true });
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', join(PLACE, 'dist')], { cwd: ROOT });
  for (const part of ['bin', 'package.json', 'demo', 'console/dist']) {
    if (existsSync(join(ROOT, part))) cpSync(join(ROOT, part), join(PLACE, part), { recursive: true });
  }
  launcher = join(PLACE, 'bin/clusterpass.mjs');
  return launcher;
}

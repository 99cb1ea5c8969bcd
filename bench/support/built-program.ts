import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundlePlugin } from '../../scripts/artifacts/plugin.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

let launcher: string | undefined;

/**
 * The launcher of the package with the program built from these sources, as an operator runs it. Run from the sources,
 * the memory and the start would include Node's stripping of types. Each run builds into a separate folder, so that
 * two runs do not replace each other's program.
 */
export function builtProgram(): string {
  if (launcher !== undefined) return launcher;
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-built-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', join(folder, 'dist')], { cwd: ROOT });
  for (const part of ['bin', 'package.json', 'demo', 'console/dist']) {
    if (existsSync(join(ROOT, part))) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  launcher = join(folder, 'bin/clusterpass.mjs');
  return launcher;
}

/** The launcher beside the bundle of the credential plugin alone. */
export async function builtPlugin(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-plugin-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await bundlePlugin(join(folder, 'dist'));
  for (const part of ['bin', 'package.json']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  return join(folder, 'bin/clusterpass.mjs');
}

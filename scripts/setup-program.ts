/**
 * Bundles the program for tests, if its sources have changed since the last bundle. Tests start some hundreds of
 * processes; one that loads a bundle takes less than half of the CPU time of one that loads the sources.
 */
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { bundleAlone } from './artifacts/plugin.ts';
import { ROOT } from './setup.mjs';
import { CONSOLE_DIST, isBuilt, SOURCES_NOTE, sourcesHash } from './setup-console.mjs';

/** A package as npm installs it, with the dependencies inside of the bundle. */
export const PROGRAM_FOLDER = join(ROOT, 'node_modules/.cache/clusterpass/program');
const PARTS = ['bin', 'demo', 'package.json'];
const SOURCES = ['src', ...PARTS, 'package-lock.json', 'scripts/setup-program.ts', 'scripts/artifacts/plugin.ts'];

/** The entries of worker threads: see src/lib/program-files.ts. */
const WORKERS = ['storage/sqlite/database-worker', 'clusters/prober/probe-worker', 'tokens/keys/signing-worker'];

/** Called by vitest once before all tests. */
export async function setup(): Promise<void> {
  const hash = sourcesHash(SOURCES);
  if (isBuilt(PROGRAM_FOLDER, hash)) return;
  // Renamed when it is complete: another run may start the program meanwhile.
  const work = `${PROGRAM_FOLDER}-${process.pid}`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, 'console'), { recursive: true });
  await build({
    input: Object.fromEntries(['main', ...WORKERS].map((name) => [name, join(ROOT, 'src', `${name}.ts`)])),
    platform: 'node',
    logLevel: 'warn',
    treeshake: false,
    output: { dir: join(work, 'dist'), format: 'esm', chunkFileNames: 'chunks/[name]-[hash].js', minify: false },
  });
  await bundleAlone(join(work, 'dist'));
  for (const part of PARTS) cpSync(join(ROOT, part), join(work, part), { recursive: true });
  symlinkSync(CONSOLE_DIST, join(work, 'console/dist'));
  writeFileSync(join(work, SOURCES_NOTE), `${hash}\n`);
  rmSync(PROGRAM_FOLDER, { recursive: true, force: true });
  renameSync(work, PROGRAM_FOLDER);
}

/**
 * Builds the console if its sources have changed since the last build. Plain JavaScript without dependencies, because
 * it is loaded on Node 20, before packages are installed.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from '../bin/run-child.mjs';
import { ROOT } from './setup.mjs';

export const CONSOLE_DIST = join(ROOT, 'console/dist');
/** The file in a build with the hash of its sources. */
export const SOURCES_NOTE = 'sources.txt';

const LIBRARIES = ['src/client', 'src/api', 'src/lib'];
/** All inputs of the build: files and folders. */
export const SOURCES = ['console', ...LIBRARIES, 'package-lock.json', 'scripts/build-console.ts'];

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesIn(path) {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => !/^\.|^dist$|\.test\.tsx?$/.test(name));
  return names.flatMap((name) => filesIn(join(path, name)));
}

/**
 * By content: a checkout changes modification times.
 * @param {readonly string[]} [sources] files and folders
 */
export function sourcesHash(sources = SOURCES) {
  const hash = createHash('sha256');
  for (const file of sources.flatMap((path) => filesIn(join(ROOT, path))).sort()) {
    const content = readFileSync(file);
    hash.update(`${relative(ROOT, file)} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

/**
 * Whether a folder was built from sources with this hash.
 * @param {string} folder
 * @param {string} hash
 */
export function isBuilt(folder, hash) {
  try {
    return readFileSync(join(folder, SOURCES_NOTE), 'utf8').trim() === hash;
  } catch {
    return false;
  }
}

/**
 * Builds the console if needed; false when that fails. Without it the server works, and the path of the console answers
 * what is missing.
 * @param {string} [node] the Node that runs the build
 */
export async function setUpConsole(node = process.execPath) {
  if (isBuilt(CONSOLE_DIST, sourcesHash())) return true;
  console.error('Building the console (once).');
  const script = fileURLToPath(new URL('build-console.ts', import.meta.url));
  const { code } = await runChild(node, [script], { cwd: ROOT });
  if (code === 0) return true;
  console.error('The console could not be built; see the messages above.');
  return false;
}

/** Called by vitest once before all tests. */
export async function setup() {
  await setUpConsole();
}

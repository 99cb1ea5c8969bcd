/**
 * `node scripts/setup-console.mjs`: builds the console if its sources have changed since the last build. Plain
 * JavaScript without dependencies, because it is loaded on Node 20, before packages are installed.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from '../bin/run-child.mjs';
import { ROOT } from './setup.mjs';

export const CONSOLE_DIST = join(ROOT, 'console/dist');
/** The file in a build with the hash of its sources. */
export const SOURCES_NOTE = 'sources.txt';

/** All inputs of the build: files and folders. */
export const SOURCES = [
  'console',
  'src/client',
  'src/api',
  'src/lib',
  'package-lock.json',
  'scripts/build-console.mjs',
];

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesIn(path) {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
      if (entry.name.startsWith('.') || entry.name === 'dist' || /\.test\.tsx?$/.test(entry.name)) return [];
      return entry.isDirectory() ? filesIn(join(path, entry.name)) : [join(path, entry.name)];
    });
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOTDIR') return [path];
    throw error;
  }
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
  const script = fileURLToPath(new URL('build-console.mjs', import.meta.url));
  const { code } = await runChild(node, [script], { cwd: ROOT });
  if (code === 0) return true;
  console.error('The console could not be built; see the messages above.');
  return false;
}

/** Called by vitest once before all tests. */
export async function setup() {
  await setUpConsole();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await setUpConsole();

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

/** The first release line with everything the program uses: type stripping, node:sqlite, process-wide Web Crypto. */
export const OLDEST_MAJOR = 24;

/** @param {string} version as in `process.versions.node` */
export function isNewEnough(version) {
  return Number.parseInt(version, 10) >= OLDEST_MAJOR;
}

/**
 * The Node of npm's `node` package, if that package is installed and its install script ran.
 * @param {string | URL} [from] a file of the project or package whose dependencies are searched
 * @returns {string | undefined}
 */
export function pinnedNode(from = import.meta.url) {
  try {
    const manifest = createRequire(from).resolve('node/package.json');
    const path = join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.node);
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The system's Node when it is new enough, else the pinned one.
 * @param {{ version: string, execPath: string, pinned: string | undefined }} candidates
 * @returns {string | undefined}
 */
export function chooseNode({ version, execPath, pinned }) {
  return isNewEnough(version) ? execPath : pinned;
}

/**
 * @param {string} version
 * @param {string} [folder] this one
 */
export function noNodeMessage(version, folder = import.meta.dirname) {
  return (
    `Clusterpass needs Node ${OLDEST_MAJOR} or newer, and this is Node ${version}. Install a newer one, or one for ` +
    `Clusterpass alone:\n  ${installCommand(dirname(folder))}`
  );
}

/**
 * How the npm package `node` gets to where `pinnedNode` finds it, with its install script.
 * @param {string} root of the clone or of the package
 */
function installCommand(root) {
  const above = dirname(root);
  if (basename(above) !== 'node_modules') return `npm ci --ignore-scripts=false --prefix "${root}"`;
  const project = dirname(above);
  const where = existsSync(join(project, 'package.json')) ? `--prefix "${project}"` : '--global';
  return `npm install ${where} --ignore-scripts=false --allow-scripts=node node@${OLDEST_MAJOR}`;
}

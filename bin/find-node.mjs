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
 * @param {string} version
 * @param {string} [folder] this one
 */
export function noNodeMessage(version, folder = import.meta.dirname) {
  return (
    `Clusterpass needs Node ${OLDEST_MAJOR} or newer, and this is Node ${version}. Install a newer one, or one for ` +
    `Clusterpass alone:\n  ${installCommand(folder)}`
  );
}

/**
 * How the npm package `node` gets to where `pinnedNode` finds it, with its install script. Beside the launcher: there it
 * replaces no Node of the machine, and no package of a project is pruned.
 * @param {string} folder
 */
const installCommand = (folder) =>
  basename(dirname(dirname(folder))) === 'node_modules'
    ? `npm install --prefix "${folder}" --ignore-scripts=false node@${OLDEST_MAJOR}`
    : `npm ci --prefix "${dirname(folder)}" --ignore-scripts=false`;

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The first release line with everything the program uses: type stripping, node:sqlite, process-wide Web Crypto. */
const OLDEST_MAJOR = 24;

export const isNewEnough = Number.parseInt(process.versions.node, 10) >= OLDEST_MAJOR;

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

export const NO_NODE =
  `Clusterpass needs Node ${OLDEST_MAJOR} or newer, and this is Node ${process.versions.node}. Install a newer one; in ` +
  'a clone, npm ci --ignore-scripts=false installs one for Clusterpass alone.';

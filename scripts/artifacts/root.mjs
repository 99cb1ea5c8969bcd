/** The file system of the image: Node, the libraries that it loads, CA certificates and the program. No shell. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pinnedNode } from '../../bin/find-node.mjs';
import { SUITES, withPackages } from '../debian-packages.mjs';
import { run } from '../run-command.mjs';
import { ROOT } from '../setup.mjs';
import { writeSbom } from './sbom.mjs';

/** Debian packages with the libraries of Node, and with the certificates of public authorities. */
const PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1', 'ca-certificates'];
const CACHE = join(ROOT, 'node_modules/.cache/clusterpass/image');
const CA_BUNDLE = 'etc/ssl/certs/ca-certificates.crt';
export const PROGRAM = 'opt/clusterpass';
/** Distroless' number for a user without rights. Kubernetes can check that it is not 0. */
export const USER = 65532;

/** @typedef {{ name: string, version: string, architecture: string }} DebianPackage */

/**
 * The unpacked packages, with their names and versions. Downloaded once for a clone.
 * @returns {{ unpacked: string, packages: DebianPackage[] }}
 */
function debianFiles() {
  const unpacked = join(CACHE, 'unpacked');
  const list = join(CACHE, 'packages.json');
  if (!existsSync(list)) {
    rmSync(CACHE, { recursive: true, force: true });
    mkdirSync(unpacked, { recursive: true });
    const unpack = (/** @type {readonly string[]} */ names) =>
      withPackages(CACHE, SUITES, '', ['download', ...names], (archives) =>
        archives.map((archive) => {
          run('dpkg-deb', ['-x', archive, unpacked]);
          const field = (/** @type {string} */ name) => run('dpkg-deb', ['-f', archive, name]).trim();
          return { name: field('Package'), version: field('Version'), architecture: field('Architecture') };
        }),
      );
    const packages = unpack(PACKAGES);
    // The libraries of GCC have their license in a package that they share.
    const shared = packages
      .map(({ name }) => linkOf(join(unpacked, 'usr/share/doc', name)))
      .filter((name) => name !== '');
    packages.push(...unpack([...new Set(shared)]));
    packages.sort((a, b) => (a.name < b.name ? -1 : 1));
    writeFileSync(list, JSON.stringify(packages));
  }
  return { unpacked, packages: JSON.parse(readFileSync(list, 'utf8')) };
}

/** The target of a symbolic link; empty for anything else. @param {string} path */
function linkOf(path) {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/**
 * The loader of a program, as an absolute path, and the names of its shared libraries.
 * @param {string} program
 */
function libraryNames(program) {
  const lines = run('ldd', [program]).split('\n');
  const loader = lines.map((line) => /^\s*(\/\S+ld-linux\S*)/.exec(line)?.[1]).find((path) => path !== undefined);
  if (loader === undefined) throw new Error(`${program} has no loader that ldd knows`);
  const names = lines.map((line) => /^\s*(\S+) => \//.exec(line)?.[1]).filter((name) => name !== undefined);
  return { loader, names };
}

/**
 * Copies the file that a library's link leads to.
 * @param {string} unpacked
 * @param {string} name
 * @param {string} target
 */
function copyLibrary(unpacked, name, target) {
  for (const lib of ['usr/lib', 'lib']) {
    const folders = existsSync(join(unpacked, lib)) ? readdirSync(join(unpacked, lib)) : [];
    for (const folder of folders.filter((each) => each.includes('-linux-'))) {
      const path = join(unpacked, lib, folder, name);
      if (!existsSync(path)) continue;
      mkdirSync(dirname(target), { recursive: true });
      copyFileSync(realpathSync(path), target);
      return;
    }
  }
  throw new Error(`none of ${PACKAGES.join(', ')} has ${name}`);
}

/**
 * @param {string} root
 * @param {string} unpacked
 */
function copyCertificates(root, unpacked) {
  const folder = join(unpacked, 'usr/share/ca-certificates/mozilla');
  const bundle = readdirSync(folder)
    .sort()
    .map((name) => `${readFileSync(join(folder, name), 'utf8').trim()}\n`);
  mkdirSync(dirname(join(root, CA_BUNDLE)), { recursive: true });
  writeFileSync(join(root, CA_BUNDLE), bundle.join(''));
}

/**
 * Creates the file system in an empty folder. Owners, modes and times are set when it is archived.
 * @param {string} root
 * @param {string} program the folder of the installed package
 */
export function createRoot(root, program) {
  const node = pinnedNode(join(ROOT, 'package.json')) ?? process.execPath;
  const { unpacked, packages } = debianFiles();
  const { loader, names } = libraryNames(node);
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  copyFileSync(node, join(root, 'usr/bin/node'));
  copyLibrary(unpacked, basename(loader), join(root, 'usr', loader));
  for (const name of names) copyLibrary(unpacked, name, join(root, 'usr/lib', name));
  for (const folder of ['lib', 'lib64']) {
    if (existsSync(join(root, 'usr', folder))) symlinkSync(`usr/${folder}`, join(root, folder));
  }
  for (const { name } of packages) {
    const copyright = `usr/share/doc/${name}/copyright`;
    mkdirSync(dirname(join(root, copyright)), { recursive: true });
    cpSync(join(unpacked, copyright), join(root, copyright), { dereference: true });
  }
  copyCertificates(root, unpacked);
  writeFileSync(join(root, 'etc/passwd'), `clusterpass:x:${USER}:${USER}::/var/lib/clusterpass:/sbin/nologin\n`);
  writeFileSync(join(root, 'etc/group'), `clusterpass:x:${USER}:\n`);
  mkdirSync(join(root, 'tmp'));
  mkdirSync(join(root, 'var/lib'), { recursive: true });
  mkdirSync(dirname(join(root, PROGRAM)), { recursive: true });
  run('cp', ['-a', program, join(root, PROGRAM)]);
  writeSbom(join(root, PROGRAM), { packages, node: run(node, ['--version']).trim().slice(1) });
}

/** The file system of the image: Node, the libraries that it loads, CA certificates and the program. No shell. */
import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pinnedNode } from '../../bin/find-node.mjs';
import { SUITES, withPackages } from '../debian-packages.ts';
import { run } from '../run-command.ts';
import { ROOT } from '../setup.mjs';

/** Debian packages with the libraries of Node, and with the certificates of public authorities. */
const PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1', 'ca-certificates'];
const CACHE = join(ROOT, 'node_modules/.cache/clusterpass/image');
const UNPACKED = join(CACHE, 'unpacked');
const CA_BUNDLE = 'etc/ssl/certs/ca-certificates.crt';
export const PROGRAM = 'opt/clusterpass';
/** Distroless' number for a user without rights. Kubernetes can check that it is not 0. */
export const USER = 65532;

interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
}

const unpack = (names: readonly string[]): DebianPackage[] =>
  withPackages({ folder: CACHE, suites: SUITES, status: '' }, ['download', ...names], (archives) =>
    archives.map((archive) => {
      run('dpkg-deb', ['-x', archive, UNPACKED]);
      const field = (name: string): string => run('dpkg-deb', ['-f', archive, name]).trim();
      return { name: field('Package'), version: field('Version'), architecture: field('Architecture') };
    }),
  );

/** Unpacks the Debian packages, once for a clone. */
function debianPackages(): DebianPackage[] {
  const list = join(CACHE, 'packages.json');
  if (!fs.existsSync(list)) {
    fs.rmSync(CACHE, { recursive: true, force: true });
    fs.mkdirSync(UNPACKED, { recursive: true });
    const packages = unpack(PACKAGES);
    // The libraries of GCC have their license in a package that they share.
    const links = packages
      .map(({ name }) => join(UNPACKED, 'usr/share/doc', name))
      .filter((path) => fs.lstatSync(path).isSymbolicLink());
    packages.push(...unpack([...new Set(links.map((path) => fs.readlinkSync(path)))]));
    packages.sort((a, b) => (a.name < b.name ? -1 : 1));
    fs.writeFileSync(list, JSON.stringify(packages));
  }
  return JSON.parse(fs.readFileSync(list, 'utf8'));
}

/** The loader of a program, as an absolute path, and the names of its shared libraries. */
function libraryNames(program: string): { loader: string; names: string[] } {
  const said = run('ldd', [program]);
  const loader = /^\s*(\/\S+ld-linux\S*)/m.exec(said)?.[1];
  if (loader === undefined) throw new Error(`${program} has no loader that ldd knows`);
  return { loader, names: [...said.matchAll(/^\s*(\S+) => \//gm)].map(([, name = '']) => name) };
}

function copy(from: string, to: string): void {
  fs.mkdirSync(dirname(to), { recursive: true });
  fs.copyFileSync(from, to);
}

/** Copies the file that a library's link leads to. */
function copyLibrary(name: string, target: string): void {
  const [path] = fs.globSync(join(UNPACKED, '{usr/lib,lib}/*-linux-*', name));
  if (path === undefined) throw new Error(`none of ${PACKAGES.join(', ')} has ${name}`);
  copy(path, target);
}

/**
 * Writes the components of the image in CycloneDX into the folder of the program: npm's packages, Node and Debian's
 * packages. Without a serial number and a time: the same components give the same file.
 */
function writeSbom(program: string, packages: readonly DebianPackage[], node: string): void {
  const made = JSON.parse(run('npm', ['sbom', '--sbom-format', 'cyclonedx'], { cwd: program }));
  const { serialNumber: _, metadata, components, ...sbom } = made;
  const { timestamp: __, ...described } = metadata;
  const added = [
    { type: 'application', name: 'node', version: node, purl: `pkg:generic/node@${node}` },
    ...packages.map(({ name, version, architecture }) => {
      const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
      return { type: 'library', name, version, purl };
    }),
  ].map((component) => ({ 'bom-ref': component.purl, ...component }));
  const whole = { ...sbom, metadata: described, components: [...components, ...added] };
  fs.writeFileSync(join(program, 'sbom.cdx.json'), `${JSON.stringify(whole, undefined, 2)}\n`);
}

/** Creates the file system in an empty folder. Owners, modes and times are set when it is archived. */
export function createRoot(root: string, program: string): void {
  const node = pinnedNode(join(ROOT, 'package.json')) ?? process.execPath;
  const packages = debianPackages();
  const { loader, names } = libraryNames(node);
  copy(node, join(root, 'usr/bin/node'));
  copyLibrary(basename(loader), join(root, 'usr', loader));
  for (const name of names) copyLibrary(name, join(root, 'usr/lib', name));
  for (const folder of ['lib', 'lib64']) {
    if (fs.existsSync(join(root, 'usr', folder))) fs.symlinkSync(`usr/${folder}`, join(root, folder));
  }
  for (const { name } of packages) {
    const copyright = `usr/share/doc/${name}/copyright`;
    copy(join(UNPACKED, copyright), join(root, copyright));
  }
  const certificates = fs.globSync(join(UNPACKED, 'usr/share/ca-certificates/mozilla/*')).sort();
  const files = {
    [CA_BUNDLE]: certificates.map((path) => `${fs.readFileSync(path, 'utf8').trim()}\n`).join(''),
    'etc/passwd': `clusterpass:x:${USER}:${USER}::/var/lib/clusterpass:/sbin/nologin\n`,
    'etc/group': `clusterpass:x:${USER}:\n`,
  };
  for (const folder of [dirname(CA_BUNDLE), 'tmp', 'var/lib', dirname(PROGRAM)]) {
    fs.mkdirSync(join(root, folder), { recursive: true });
  }
  for (const [file, text] of Object.entries(files)) fs.writeFileSync(join(root, file), text);
  run('cp', ['-a', program, join(root, PROGRAM)]);
  writeSbom(join(root, PROGRAM), packages, run(node, ['--version']).trim().slice(1));
}

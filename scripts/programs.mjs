/**
 * `node scripts/programs.mjs [NAME...]`: provides the programs that only the tests need. Those of Debian packages are
 * unpacked from the package archive of this machine, without installing them. If one cannot be provided, its tests are
 * skipped and report why.
 */
import { accessSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SUITES, unpackProgram } from './debian-packages.mjs';
import { run, textOf } from './run-command.mjs';

/**
 * @typedef {object} Program
 * @property {string} name
 * @property {string | undefined} path undefined if it is missing
 * @property {string} problem the file with the reason why it could not be provided
 * @property {() => void} install
 */

/**
 * A program in a Debian package.
 * @typedef {object} PackageFacts
 * @property {string} package
 * @property {string} inPackage the path of the program in the package
 * @property {string[]} versionArgs arguments to print its version, to test that it runs on this machine
 * @property {readonly (string | undefined)[]} suites those that are tried; undefined: the machine's release
 * @property {string[]} [withPackages] packages of Go that are unpacked beside it, with all that they depend on
 */

const CACHE = fileURLToPath(new URL('../node_modules/.cache/clusterpass/', import.meta.url));
const OF_MACHINE = [undefined];

/**
 * @param {PackageFacts} facts
 * @param {string} [name]
 */
function packaged(facts, name = basename(facts.inPackage)) {
  const path = join(CACHE, name, name);
  return { name, path, problem: join(CACHE, name, 'problem.txt'), install: () => unpackProgram(path, facts) };
}

/**
 * @param {string} name
 * @param {string} inPackage
 * @param {string} versionArg
 * @param {readonly (string | undefined)[]} [suites]
 */
const simple = (name, inPackage, versionArg, suites = OF_MACHINE) =>
  packaged({ package: name, inPackage, versionArgs: [versionArg], suites });

/** `newest`: from Debian's testing or unstable release, instead of a stable one. */
const isNewest = process.env.CLUSTERPASS_TEST_KUBECTL === 'newest';
const KUBECTL_FACTS = { package: 'kubectl', inPackage: 'usr/bin/kubectl', versionArgs: ['version', '--client'] };
export const kubectl = isNewest
  ? packaged({ ...KUBECTL_FACTS, suites: ['forky', 'sid'] }, 'kubectl-newest')
  : packaged({ ...KUBECTL_FACTS, suites: SUITES });
export const etcd = simple('etcd-server', 'usr/bin/etcd', '--version', SUITES);
export const promtool = simple('promtool', 'usr/bin/promtool', '--version', SUITES);
export const umoci = simple('umoci', 'usr/bin/umoci', '--version', SUITES);
export const nginx = simple('nginx', 'usr/sbin/nginx', '-v');
/** Searches models; it needs a compiler. */
export const spin = simple('spin', 'usr/bin/spin', '-V');
/** Its library gives a process another wall clock. */
export const faketime = simple('faketime', 'usr/bin/faketime', '--version');
export const haproxy = simple('haproxy', 'usr/sbin/haproxy', '-v');
export const go = packaged({
  package: 'golang-go',
  inPackage: 'usr/lib/go/bin/go',
  versionArgs: ['version'],
  suites: OF_MACHINE,
  withPackages: [
    'golang-github-masterminds-sprig-dev',
    // Helm reads and writes YAML with this one,
    'golang-k8s-sigs-yaml-dev',
    // and Helm 3 checks values.schema.json with this one.
    'golang-github-xeipuuv-gojsonschema-dev',
  ],
});

export const KUBECTL = kubectl.path;
export const ETCD = etcd.path;

/** Variables for Go: it reads and writes only below the folder of the program. */
export function goEnvironment() {
  const folder = dirname(go.path);
  return {
    PATH: process.env.PATH,
    HOME: folder,
    GOROOT: join(folder, 'root/usr/lib/go'),
    GOPATH: join(folder, 'root/usr/share/gocode'),
    GOCACHE: join(folder, 'build'),
    // Debian's libraries lie in GOPATH, without modules.
    GO111MODULE: 'off',
    GOFLAGS: '',
    GOTOOLCHAIN: 'local',
    // The compiler runs for a second for each package. Without garbage collection it takes a quarter less CPU time.
    GOGC: 'off',
    GOPROXY: 'off',
    CGO_ENABLED: '0',
  };
}

/** The headless shell takes a fifth less CPU time in the tests. Some releases have only the whole browser. */
const SHELL = 'chromium-headless-shell';
const CHROMIUM_NAMES = [SHELL, 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/**
 * A program of the machine. If it is missing, one of these packages is installed, which only root can do.
 * @param {string} name
 * @param {{ commands: string[], packages: string[], given?: string | undefined }} facts `given`: its path
 */
const ofMachine = (name, { commands, packages, given }) => ({
  name,
  get path() {
    if (given) return isProgram(given) ? given : undefined;
    return onPath(commands);
  },
  problem: join(CACHE, name.toLowerCase(), 'problem.txt'),
  install: () => installFirst(...packages),
});

/** Chromium needs dozens of libraries, so it is installed. */
export const chromium = ofMachine('Chromium', {
  commands: CHROMIUM_NAMES,
  packages: [SHELL, 'chromium'],
  given: process.env.CLUSTERPASS_TEST_CHROMIUM,
});
/** The C compiler of the machine, with the headers of its C library. */
export const compiler = ofMachine('gcc', { commands: ['gcc'], packages: ['build-essential'] });
/** Makes network namespaces, and runs programs in them. */
export const ip = ofMachine('ip', { commands: ['ip'], packages: ['iproute2'] });

/** @param {string[]} names */
function onPath(names) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

/**
 * Installs the first of these packages that the release has.
 * @param {string[]} names
 */
function installFirst(...names) {
  if (process.getuid?.() !== 0) throw new Error('it is not on the PATH, and only root can install it');
  run('apt-get', ['-qq', 'update']);
  const name = names.find((each) => run('apt-cache', ['--names-only', 'search', `^${each}$`]) !== '');
  run('apt-get', ['-qq', 'install', '--yes', '--no-install-recommends', name ?? names.join(' or ')]);
}

/** @type {readonly Program[]} */
const PROGRAMS = [kubectl, etcd, promtool, nginx, haproxy, go, chromium, umoci, spin, compiler, ip, faketime];

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The reason why a program is missing; undefined if it can run.
 * @param {Pick<Program, 'name' | 'path' | 'problem'>} program
 */
export function whyMissing({ name, path, problem }) {
  if (path !== undefined && isProgram(path)) return undefined;
  return textOf(problem)?.trim() ?? `${name} is not installed: run node scripts/programs.mjs`;
}

/**
 * Provides programs that are missing, or writes the reason for a failure to a file. Never throws.
 * @param {readonly Program[]} [wanted]
 */
export function setUpPrograms(wanted = PROGRAMS) {
  for (const { name, path, problem, install } of wanted) {
    if (path !== undefined && isProgram(path)) continue;
    try {
      mkdirSync(dirname(problem), { recursive: true });
      console.error(`Getting ${name} for the tests (once).`);
      install();
      rmSync(problem, { force: true });
    } catch (error) {
      // Without URLs: those of the machine's package sources may contain credentials.
      const why = String(error instanceof Error ? error.message : error).replaceAll(/\b[a-z+]+:\/\/\S+/g, '<address>');
      console.error(`${name} is missing: ${why}`);
      try {
        writeFileSync(problem, `${why}\n`);
      } catch {
        // The tests then report that it is missing, without a reason.
      }
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  setUpPrograms(names.length === 0 ? PROGRAMS : PROGRAMS.filter(({ name }) => names.includes(name.toLowerCase())));
}

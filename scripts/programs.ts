/**
 * The programs that only the tests need. Those of Debian packages are unpacked from the package archive of this
 * machine, without installing them. If one cannot be provided, its tests are skipped and report why.
 */
import { accessSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { type PackageFacts, SUITES, unpackProgram } from './debian-packages.ts';
import { run, textOf } from './run-command.ts';
import { ROOT } from './setup.mjs';

export interface Program {
  readonly name: string;
  /** Undefined if it is missing. */
  readonly path: string | undefined;
  /** The file with the reason why it could not be provided. */
  readonly problem: string;
  readonly install: () => void;
}

const CACHE = join(ROOT, 'node_modules/.cache/clusterpass');

function packaged(facts: PackageFacts, name = basename(facts.inPackage)): Program & { readonly path: string } {
  const path = join(CACHE, name, name);
  return { name, path, problem: join(CACHE, name, 'problem.txt'), install: () => unpackProgram(path, facts) };
}

const KUBECTL_FACTS = { package: 'kubectl', inPackage: 'usr/bin/kubectl', versionArgs: ['version', '--client'] };
/** `newest`: from Debian's testing or unstable release, instead of a stable one. */
export const kubectl =
  process.env.CLUSTERPASS_TEST_KUBECTL === 'newest'
    ? packaged({ ...KUBECTL_FACTS, suites: ['forky', 'sid'] }, 'kubectl-newest')
    : packaged({ ...KUBECTL_FACTS, suites: SUITES });

const simple = (name: string, inPackage: string, versionArg: string, more: Partial<PackageFacts> = {}) =>
  packaged({ package: name, inPackage, versionArgs: [versionArg], ...more });

export const etcd = simple('etcd-server', 'usr/bin/etcd', '--version', { suites: SUITES });
export const promtool = simple('promtool', 'usr/bin/promtool', '--version', { suites: SUITES });
export const umoci = simple('umoci', 'usr/bin/umoci', '--version', { suites: SUITES });
export const nginx = simple('nginx', 'usr/sbin/nginx', '-v');
/** Searches models; it needs a compiler. */
export const spin = simple('spin', 'usr/bin/spin', '-V');
/** Its library gives a process another wall clock. */
export const faketime = simple('faketime', 'usr/bin/faketime', '--version');
export const haproxy = simple('haproxy', 'usr/sbin/haproxy', '-v');
export const go = simple('golang-go', 'usr/lib/go/bin/go', 'version', {
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

/** A program of the machine. If it is missing, the first of the packages is installed, which only root can do. */
const ofMachine = (
  name: string,
  commands: readonly string[],
  packages: readonly string[],
  given?: string,
): Program => ({
  name,
  get path() {
    const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
    const paths = given ? [given] : commands.flatMap((command) => folders.map((folder) => join(folder, command)));
    return paths.find(isProgram);
  },
  problem: join(CACHE, name.toLowerCase(), 'problem.txt'),
  install: () => {
    if (process.getuid?.() !== 0) throw new Error('it is not on the PATH, and only root can install it');
    run('apt-get', ['-qq', 'update']);
    const found = packages.find((each) => run('apt-cache', ['--names-only', 'search', `^${each}$`]) !== '');
    run('apt-get', ['-qq', 'install', '--yes', '--no-install-recommends', found ?? packages.join(' or ')]);
  },
});

/** The headless shell takes a fifth less CPU time in the tests. Some releases have only the whole browser. */
const SHELL = 'chromium-headless-shell';
const BROWSERS = [SHELL, 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Chromium needs dozens of libraries, so it is installed. */
export const chromium = ofMachine('Chromium', BROWSERS, [SHELL, 'chromium'], process.env.CLUSTERPASS_TEST_CHROMIUM);
/** The C compiler of the machine, with the headers of its C library. */
export const compiler = ofMachine('gcc', ['gcc'], ['build-essential']);
/** Makes network namespaces, and runs programs in them. */
export const ip = ofMachine('ip', ['ip'], ['iproute2']);

const PROGRAMS: readonly Program[] = [
  ...[kubectl, etcd, promtool, nginx, haproxy, go],
  ...[chromium, umoci, spin, compiler, ip, faketime],
];

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The reason why a program is missing; undefined if it can run. */
export function whyMissing({ name, path, problem }: Omit<Program, 'install'>): string | undefined {
  if (path !== undefined && isProgram(path)) return undefined;
  return textOf(problem)?.trim() ?? `${name} is not installed: npm test installs it`;
}

/** Provides programs that are missing, or writes the reason for a failure to a file. */
export function setUpPrograms(wanted: readonly Program[] = PROGRAMS): void {
  for (const { name, path, problem, install } of wanted) {
    if (path !== undefined && isProgram(path)) continue;
    mkdirSync(dirname(problem), { recursive: true });
    try {
      console.error(`Getting ${name} for the tests (once).`);
      install();
      rmSync(problem, { force: true });
    } catch (error) {
      // Without URLs: those of the machine's package sources may contain credentials.
      const why = String(error instanceof Error ? error.message : error).replaceAll(/\b[a-z+]+:\/\/\S+/g, '<address>');
      console.error(`${name} is missing: ${why}`);
      writeFileSync(problem, `${why}\n`);
    }
  }
}

/**
 * Downloads programs that only the tests need from the machine's package archive, and unpacks them without installing
 * them. apt works in separate folders, so the system is not changed. If this fails, the tests are skipped and report
 * why.
 */
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inSuite, readSources } from './apt-sources.mjs';

/**
 * A program for the tests.
 * @typedef {object} Wanted
 * @property {string} name
 * @property {string | undefined} path the program, if it is installed
 * @property {string} problem the file with the reason why it could not be installed
 * @property {string} script the script that installs it
 */

/**
 * A program in a Debian package.
 * @typedef {object} PackageFacts
 * @property {string} name
 * @property {string} package the name of the package
 * @property {string} inPackage the path of the program in the package
 * @property {string[]} versionArgs arguments to print its version, to test that it runs on this machine
 * @property {boolean} [needsLibraries] whether it needs the shared libraries of the machine's release
 */

/** @typedef {Wanted & PackageFacts & { path: string }} TestProgram */

/**
 * @param {PackageFacts} facts
 * @returns {TestProgram}
 */
export function testProgram(facts) {
  const folder = fileURLToPath(new URL(`../node_modules/.cache/clusterpass/${facts.name}/`, import.meta.url));
  return {
    ...facts,
    path: join(folder, facts.name),
    problem: join(folder, 'problem.txt'),
    script: `scripts/setup-${facts.name}.mjs`,
  };
}

/**
 * The reason why a program is missing; undefined if it is installed.
 * @param {Wanted} wanted
 */
export function whyMissing({ name, path, problem, script }) {
  if (path !== undefined && isProgram(path)) return undefined;
  try {
    return readFileSync(problem, 'utf8').trim();
  } catch {
    return `${name} is not installed: run node ${script}`;
  }
}

/** Debian suites with recent enough releases, in the order in which they are tried. */
const SUITES = ['trixie', 'stable', 'sid'];

class SetUpError extends Error {}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} [cwd]
 */
function run(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: 120_000,
    maxBuffer: 16 * 1024 * 1024,
    env: { ...process.env, LC_ALL: 'C' },
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (status === 0) return stdout;
  const line =
    `${stderr ?? ''}`.split('\n').find((text) => text.startsWith('E: ')) ?? error?.message ?? `exit ${status}`;
  throw new SetUpError(`${command} ${args.at(-1)}: ${line.trim()}`);
}

/** @param {string} path */
export function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function releaseName() {
  try {
    return /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/**
 * Paths in apt's configuration, by their option names.
 * @param {string[]} names
 */
function aptPaths(...names) {
  const shell = run('apt-config', ['shell', ...names.flatMap((name, i) => [`P${i}`, name])]);
  return names.map((_, i) => new RegExp(`^P${i}='([^']*)'$`, 'm').exec(shell)?.[1] ?? '');
}

/**
 * Creates an empty folder with an apt configuration that writes only to this folder.
 * @param {TestProgram} wanted
 * @param {string[]} settings further settings, such as other package sources
 */
function workFolder(wanted, settings) {
  const work = join(dirname(wanted.path), 'work');
  rmSync(work, { recursive: true, force: true });
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'unpacked']) {
    mkdirSync(join(work, name), { recursive: true });
  }
  // Read after the machine's settings: keeps its proxies and keys, and clears its hooks.
  writeFileSync(
    join(work, 'apt.conf'),
    [
      '#clear APT::Update::Pre-Invoke;',
      '#clear APT::Update::Post-Invoke;',
      '#clear APT::Update::Post-Invoke-Success;',
      `Dir::State "${work}/state";`,
      // apt's lock is next to this file: a separate one needs no root and does not block the machine's apt.
      `Dir::State::status "${work}/status";`,
      `Dir::Cache "${work}/cache";`,
      'APT::Sandbox::User "root";',
      'Acquire::Languages "none";',
      'Acquire::Retries "1";',
      'Acquire::http::Timeout "20";',
      'Acquire::https::Timeout "20";',
      ...settings,
      '',
    ].join('\n'),
  );
  const conf = join(work, 'apt.conf');
  return { work, aptGet: (/** @type {string[]} */ ...args) => run('apt-get', ['-c', conf, '-qq', ...args], work) };
}

/**
 * Downloads and unpacks the program from one suite. Renames it last, so that it is never incomplete.
 * @param {TestProgram} wanted
 * @param {string} stanza
 */
function fetchFrom(wanted, stanza) {
  const folder = dirname(wanted.path);
  const { work, aptGet } = workFolder(wanted, [
    `Dir::Etc::sourcelist "${folder}/work/archive.sources";`,
    'Dir::Etc::sourceparts "-";',
    'Dir::Etc::preferences "-";',
    'Dir::Etc::preferencesparts "-";',
    'APT::Default-Release "";',
  ]);
  writeFileSync(join(work, 'archive.sources'), stanza);
  writeFileSync(join(work, 'status'), '');
  aptGet('--error-on=any', 'update');
  aptGet('download', wanted.package);
  const archive = readdirSync(work).find((name) => name.endsWith('.deb'));
  if (archive === undefined) throw new SetUpError(`apt-get download ${wanted.package} downloaded no package`);
  run('dpkg-deb', ['-x', join(work, archive), join(work, 'unpacked')]);
  const program = join(work, 'unpacked', wanted.inPackage);
  run(program, wanted.versionArgs);
  renameSync(program, wanted.path);
  rmSync(work, { recursive: true, force: true });
}

/**
 * The same for a program that needs libraries: from the machine's release, with the libraries that the machine does not
 * have. They are unpacked next to the program. Nothing is installed, so no service is started.
 * @param {TestProgram} wanted
 */
function fetchWithLibraries(wanted) {
  const [status = ''] = aptPaths('Dir::State::status/f');
  const { work, aptGet } = workFolder(wanted, []);
  copyFileSync(status, join(work, 'status'));
  aptGet('update');
  aptGet('install', '--download-only', '--yes', '--no-install-recommends', '--reinstall', wanted.package);
  const archives = readdirSync(join(work, 'cache/archives')).filter((name) => name.endsWith('.deb'));
  for (const archive of archives) {
    run('dpkg-deb', ['-x', join(work, 'cache/archives', archive), join(work, 'unpacked')]);
  }
  const root = join(dirname(wanted.path), 'root');
  rmSync(root, { recursive: true, force: true });
  renameSync(join(work, 'unpacked'), root);
  const libraries = libraryFolders(root).map((folder) => `$here/root/${folder}`);
  const launcher = join(work, wanted.name);
  // Relative to the launcher, so that a clone can be moved.
  writeFileSync(
    launcher,
    [
      '#!/bin/sh',
      'here=$(dirname "$(readlink -f "$0")")',
      `LD_LIBRARY_PATH="${libraries.join(':')}" exec "$here/root/${wanted.inPackage}" "$@"`,
      '',
    ].join('\n'),
    { mode: 0o755 },
  );
  renameSync(launcher, wanted.path);
  try {
    run(wanted.path, wanted.versionArgs);
  } catch (error) {
    rmSync(wanted.path);
    throw error;
  }
  rmSync(work, { recursive: true, force: true });
}

/**
 * Debian's library folders, which are named after the architecture.
 * @param {string} root
 */
function libraryFolders(root) {
  return ['usr/lib', 'lib'].flatMap((lib) =>
    entriesOf(join(root, lib))
      .filter((name) => name.includes('-linux-'))
      .map((name) => `${lib}/${name}`),
  );
}

/** @param {string} folder */
function entriesOf(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** @param {TestProgram} wanted */
function fetchProgram(wanted) {
  if (wanted.needsLibraries === true) return fetchWithLibraries(wanted);
  const release = releaseName();
  const [list = '', parts = ''] = aptPaths('Dir::Etc::sourcelist/f', 'Dir::Etc::sourceparts/d');
  const sources = readSources({ list, parts });
  /** @type {string[]} */
  const problems = [];
  for (const suite of SUITES) {
    const stanza = inSuite(sources, release, suite);
    if (stanza === undefined) throw new SetUpError(`no package source for the release "${release}" is configured`);
    try {
      return fetchFrom(wanted, stanza);
    } catch (error) {
      if (!(error instanceof SetUpError)) throw error;
      problems.push(`${suite}: ${error.message}`);
    }
  }
  throw new SetUpError(problems.join('; '));
}

/**
 * Downloads the program if it is missing, or writes the reason for a failure to a file. Never throws.
 * @param {TestProgram} wanted
 */
export function setUpProgram(wanted) {
  if (isProgram(wanted.path)) return;
  try {
    mkdirSync(dirname(wanted.path), { recursive: true });
    console.error(`Downloading ${wanted.name} for the tests (once).`);
    fetchProgram(wanted);
    rmSync(wanted.problem, { force: true });
  } catch (error) {
    // Without URLs: those of the machine's package sources may contain credentials.
    const why = String(error instanceof Error ? error.message : error).replaceAll(/\b[a-z+]+:\/\/\S+/g, '<address>');
    console.error(`${wanted.name} could not be downloaded: ${why}`);
    try {
      writeFileSync(wanted.problem, `${why}\n`);
    } catch {
      // The tests then report that it is missing, without a reason.
    }
  }
}

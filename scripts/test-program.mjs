/**
 * Fetches programs that only the tests need, from the archive that the machine takes its own packages from, and
 * unpacks them without installing them. Nothing of the system is changed: apt works on folders of its own. Quick when
 * it was done before. Without success the tests say why they were skipped.
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
 * Where a program for the tests is, or why it is not there.
 * @typedef {object} Wanted
 * @property {string} name what people call it
 * @property {string | undefined} path the program, once it is there
 * @property {string} problem a file that says in a sentence why it is not there
 * @property {string} script what fetches it
 */

/**
 * What is known of a program out of a Debian package.
 * @typedef {object} PackageFacts
 * @property {string} name
 * @property {string} package the package it is in
 * @property {string} inPackage where the program lies in the package
 * @property {string[]} versionArgs arguments that make it print its version and end, to see that it runs here
 * @property {boolean} [needsLibraries] whether it runs only with the libraries of the release it was built for
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
 * Why a program cannot be used, in a sentence; undefined when it can.
 * @param {Wanted} wanted
 */
export function whyMissing({ name, path, problem, script }) {
  if (path !== undefined && isProgram(path)) return undefined;
  try {
    return readFileSync(problem, 'utf8').trim();
  } catch {
    return `${name} was not fetched yet: node ${script} does it`;
  }
}

/** Suites that carry recent enough releases. The first is what everybody's results agree on. */
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
 * Where this machine keeps what apt works with, by apt's own names for it.
 * @param {string[]} names
 */
function aptPlaces(...names) {
  const shell = run('apt-config', ['shell', ...names.flatMap((name, i) => [`P${i}`, name])]);
  return names.map((_, i) => new RegExp(`^P${i}='([^']*)'$`, 'm').exec(shell)?.[1] ?? '');
}

/**
 * An empty folder for the work on a program, with the settings that keep apt inside of it.
 * @param {TestProgram} wanted
 * @param {string[]} settings those that say where packages come from, where that is not where the machine's do
 */
function workPlace(wanted, settings) {
  const work = join(dirname(wanted.path), 'work');
  rmSync(work, { recursive: true, force: true });
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'unpacked']) {
    mkdirSync(join(work, name), { recursive: true });
  }
  // Read after the machine's own settings, so that its proxies and keys hold and its hooks do not run.
  writeFileSync(
    join(work, 'apt.conf'),
    [
      '#clear APT::Update::Pre-Invoke;',
      '#clear APT::Update::Post-Invoke;',
      '#clear APT::Update::Post-Invoke-Success;',
      `Dir::State "${work}/state";`,
      // Beside it are the locks: with one of our own, nobody has to be root, and the machine's apt is not held up.
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
 * Downloads and unpacks the program from one suite, and leaves it in place whole or not at all.
 * @param {TestProgram} wanted
 * @param {string} stanza
 */
function fetchFrom(wanted, stanza) {
  const folder = dirname(wanted.path);
  const { work, aptGet } = workPlace(wanted, [
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
  if (archive === undefined) throw new SetUpError(`apt-get download ${wanted.package} left no package`);
  run('dpkg-deb', ['-x', join(work, archive), join(work, 'unpacked')]);
  const program = join(work, 'unpacked', wanted.inPackage);
  run(program, wanted.versionArgs);
  renameSync(program, wanted.path);
  rmSync(work, { recursive: true, force: true });
}

/**
 * The same for a program that needs libraries: from the machine's own release, together with those libraries that the
 * machine does not have. They are unpacked beside it, and nothing is installed: so no service is started either.
 * @param {TestProgram} wanted
 */
function fetchWithLibraries(wanted) {
  const [status = ''] = aptPlaces('Dir::State::status/f');
  const { work, aptGet } = workPlace(wanted, []);
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
  // By way of its own place, so that a clone can be moved.
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
 * Folders with libraries in them, as Debian lays them out: one for the processor's kind.
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
  const [list = '', parts = ''] = aptPlaces('Dir::Etc::sourcelist/f', 'Dir::Etc::sourceparts/d');
  const sources = readSources({ list, parts });
  /** @type {string[]} */
  const problems = [];
  for (const suite of SUITES) {
    const stanza = inSuite(sources, release, suite);
    if (stanza === undefined) throw new SetUpError(`no source of packages for the release "${release}" is configured`);
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
 * Sees to it that the program is there, or that it is written down why it is not. Never throws.
 * @param {TestProgram} wanted
 */
export function setUpProgram(wanted) {
  if (isProgram(wanted.path)) return;
  try {
    mkdirSync(dirname(wanted.path), { recursive: true });
    console.error(`Fetching ${wanted.name} for the tests, once.`);
    fetchProgram(wanted);
    rmSync(wanted.problem, { force: true });
  } catch (error) {
    // Without the addresses in it: they are the machine's, and may hold credentials.
    const why = String(error instanceof Error ? error.message : error).replaceAll(/\b[a-z+]+:\/\/\S+/g, '<address>');
    console.error(`${wanted.name} could not be fetched: ${why}`);
    try {
      writeFileSync(wanted.problem, `${why}\n`);
    } catch {
      // Then the tests report that it is missing, without a reason.
    }
  }
}

/**
 * Fetches programs that only the tests need, from the archive that the machine takes its own packages from, and
 * unpacks them without installing them. Nothing of the system is changed: apt works on folders of its own. Quick when
 * it was done before. Without success the tests say why they were skipped.
 */
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
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
 * A program out of a Debian package.
 * @typedef {object} TestProgram
 * @property {string} name what people call it
 * @property {string} package the package it is in
 * @property {string} inPackage where the program lies in the package
 * @property {string[]} versionArgs arguments that make it print its version and end, to see that it runs here
 * @property {string} path the program, once it is there
 * @property {string} problem a file that says in a sentence why it is not there
 */

/**
 * @param {{ name: string, package: string, inPackage: string, versionArgs: string[] }} facts
 * @returns {TestProgram}
 */
export function testProgram(facts) {
  const folder = fileURLToPath(new URL(`../node_modules/.cache/clusterpass/${facts.name}/`, import.meta.url));
  return { ...facts, path: join(folder, facts.name), problem: join(folder, 'problem.txt') };
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
function isProgram(path) {
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

/** Where this machine keeps its list of sources. */
function sourcePlaces() {
  const shell = run('apt-config', ['shell', 'LIST', 'Dir::Etc::sourcelist/f', 'PARTS', 'Dir::Etc::sourceparts/d']);
  const value = (/** @type {string} */ name) => new RegExp(`^${name}='([^']*)'$`, 'm').exec(shell)?.[1] ?? '';
  return { list: value('LIST'), parts: value('PARTS') };
}

/**
 * Downloads and unpacks the program from one suite, and leaves it in place whole or not at all.
 * @param {TestProgram} wanted
 * @param {string} stanza
 */
function fetchFrom(wanted, stanza) {
  const work = join(dirname(wanted.path), 'work');
  rmSync(work, { recursive: true, force: true });
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'unpacked']) {
    mkdirSync(join(work, name), { recursive: true });
  }
  writeFileSync(join(work, 'archive.sources'), stanza);
  writeFileSync(join(work, 'status'), '');
  // Read after the machine's own settings, so that its proxies and keys hold and its hooks do not run.
  writeFileSync(
    join(work, 'apt.conf'),
    [
      '#clear APT::Update::Pre-Invoke;',
      '#clear APT::Update::Post-Invoke;',
      '#clear APT::Update::Post-Invoke-Success;',
      `Dir::Etc::sourcelist "${work}/archive.sources";`,
      'Dir::Etc::sourceparts "-";',
      'Dir::Etc::preferences "-";',
      'Dir::Etc::preferencesparts "-";',
      `Dir::State "${work}/state";`,
      `Dir::State::status "${work}/status";`,
      `Dir::Cache "${work}/cache";`,
      'APT::Sandbox::User "root";',
      'APT::Default-Release "";',
      'Acquire::Languages "none";',
      'Acquire::Retries "1";',
      'Acquire::http::Timeout "20";',
      'Acquire::https::Timeout "20";',
      '',
    ].join('\n'),
  );
  const conf = join(work, 'apt.conf');
  run('apt-get', ['-c', conf, '-qq', '--error-on=any', 'update']);
  run('apt-get', ['-c', conf, '-qq', 'download', wanted.package], work);
  const archive = readdirSync(work).find((name) => name.endsWith('.deb'));
  if (archive === undefined) throw new SetUpError(`apt-get download ${wanted.package} left no package`);
  run('dpkg-deb', ['-x', join(work, archive), join(work, 'unpacked')]);
  const program = join(work, 'unpacked', wanted.inPackage);
  run(program, wanted.versionArgs);
  renameSync(program, wanted.path);
  rmSync(work, { recursive: true, force: true });
}

/** @param {TestProgram} wanted */
function fetchProgram(wanted) {
  const release = releaseName();
  const sources = readSources(sourcePlaces());
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

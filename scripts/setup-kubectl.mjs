/**
 * `node scripts/setup-kubectl.mjs`: fetches the real kubectl for the tests, from the archive that the machine takes
 * its own packages from, and unpacks it without installing it. Nothing of the system is changed: apt works on
 * folders of its own. Quick when it was done before. Without success the tests say why they were skipped.
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
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inSuite, readSources } from './apt-sources.mjs';

const FOLDER = fileURLToPath(new URL('../node_modules/.cache/clusterpass/kubectl/', import.meta.url));
/** The program, once it is there. */
export const KUBECTL = join(FOLDER, 'kubectl');
/** Why it is not there, in a sentence. */
export const KUBECTL_PROBLEM = join(FOLDER, 'problem.txt');

/** Suites that carry kubectl 1.32 or later under this name. The first is what everybody's results agree on. */
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
 * Downloads and unpacks kubectl from one suite, and leaves it in place whole or not at all.
 * @param {string} stanza
 */
function fetchFrom(stanza) {
  const work = join(FOLDER, 'work');
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
  run('apt-get', ['-c', conf, '-qq', 'download', 'kubectl'], work);
  const archive = readdirSync(work).find((name) => name.endsWith('.deb'));
  if (archive === undefined) throw new SetUpError('apt-get download kubectl left no package');
  run('dpkg-deb', ['-x', join(work, archive), join(work, 'unpacked')]);
  const program = join(work, 'unpacked/usr/bin/kubectl');
  run(program, ['version', '--client']);
  renameSync(program, KUBECTL);
  rmSync(work, { recursive: true, force: true });
}

function fetchKubectl() {
  const release = releaseName();
  const sources = readSources(sourcePlaces());
  /** @type {string[]} */
  const problems = [];
  for (const suite of SUITES) {
    const stanza = inSuite(sources, release, suite);
    if (stanza === undefined) throw new SetUpError(`no source of packages for the release "${release}" is configured`);
    try {
      return fetchFrom(stanza);
    } catch (error) {
      if (!(error instanceof SetUpError)) throw error;
      problems.push(`${suite}: ${error.message}`);
    }
  }
  throw new SetUpError(problems.join('; '));
}

/** Sees to it that kubectl is there, or that it is written down why it is not. Never throws. */
export function setUpKubectl() {
  if (isProgram(KUBECTL)) return;
  try {
    mkdirSync(FOLDER, { recursive: true });
    console.error('Fetching kubectl for the tests, once.');
    fetchKubectl();
    rmSync(KUBECTL_PROBLEM, { force: true });
  } catch (error) {
    // Without the addresses in it: they are the machine's, and may hold credentials.
    const why = String(error instanceof Error ? error.message : error).replaceAll(/\b[a-z+]+:\/\/\S+/g, '<address>');
    console.error(`kubectl could not be fetched: ${why}`);
    try {
      writeFileSync(KUBECTL_PROBLEM, `${why}\n`);
    } catch {
      // Then the tests report that it is missing, without a reason.
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpKubectl();

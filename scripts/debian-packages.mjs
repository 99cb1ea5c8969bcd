/**
 * Downloads Debian packages from the archive of this machine, without installing them. apt works in separate folders,
 * so the system is not changed.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inSuite, readSources } from './apt-sources.mjs';
import { CommandError, run } from './run-command.mjs';

/** Debian suites with recent enough releases, in the order in which they are tried. */
const SUITES = ['trixie', 'stable', 'sid'];

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
export function aptPaths(...names) {
  const shell = run('apt-config', ['shell', ...names.flatMap((name, i) => [`P${i}`, name])]);
  return names.map((_, i) => new RegExp(`^P${i}='([^']*)'$`, 'm').exec(shell)?.[1] ?? '');
}

/**
 * Creates an empty folder with an apt configuration that writes only to this folder.
 * @param {string} folder
 * @param {string[]} settings further settings, such as other package sources
 */
export function workFolder(folder, settings) {
  const work = join(folder, 'work');
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
 * @param {string} folder
 * @param {string} stanza
 * @param {readonly string[]} packages
 */
function downloadFrom(folder, stanza, packages) {
  const { work, aptGet } = workFolder(folder, [
    `Dir::Etc::sourcelist "${folder}/work/archive.sources";`,
    'Dir::Etc::sourceparts "-";',
    'Dir::Etc::preferences "-";',
    'Dir::Etc::preferencesparts "-";',
    'APT::Default-Release "";',
  ]);
  writeFileSync(join(work, 'archive.sources'), stanza);
  writeFileSync(join(work, 'status'), '');
  aptGet('--error-on=any', 'update');
  aptGet('download', ...packages);
  const archives = readdirSync(work).filter((name) => name.endsWith('.deb'));
  if (archives.length < packages.length) throw new CommandError(`apt-get download ${packages.join(' ')} is incomplete`);
  return archives.map((name) => join(work, name));
}

/**
 * Downloads the newest version of the packages from the first suite where `use` succeeds with them. The archives are
 * removed after that.
 * @template T
 * @param {string} folder for work
 * @param {readonly string[]} packages
 * @param {(archives: string[]) => T} use throws CommandError if the packages do not work here
 * @param {readonly string[]} [suites]
 * @returns {T}
 */
export function withPackages(folder, packages, use, suites = SUITES) {
  const release = releaseName();
  const [list = '', parts = ''] = aptPaths('Dir::Etc::sourcelist/f', 'Dir::Etc::sourceparts/d');
  const sources = readSources({ list, parts });
  /** @type {string[]} */
  const problems = [];
  for (const suite of suites) {
    const stanza = inSuite(sources, release, suite);
    if (stanza === undefined) throw new CommandError(`no package source for the release "${release}" is configured`);
    try {
      return use(downloadFrom(folder, stanza, packages));
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      problems.push(`${suite}: ${error.message}`);
    } finally {
      rmSync(join(folder, 'work'), { recursive: true, force: true });
    }
  }
  throw new CommandError(problems.join('; '));
}

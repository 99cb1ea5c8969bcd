/**
 * Downloads Debian packages from the archive of this machine, without installing them. apt works in separate folders,
 * so the system is not changed.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sourceInSuite } from './apt-sources.mjs';
import { CommandError, run, textOf } from './run-command.mjs';
import { ROOT } from './setup.mjs';

/**
 * The package lists of apt, a folder for each set of sources. Programs share them: to download and read those of Debian
 * takes four seconds of CPU time.
 */
const LISTS = join(ROOT, 'node_modules/.cache/clusterpass/package-lists');
/** Older lists are updated. */
const MAX_AGE_MS = 60 * 60 * 1000;

/** Debian suites with recent enough releases, in the order in which they are tried. */
export const SUITES = ['trixie', 'stable', 'sid'];

/**
 * Paths in apt's configuration, by their option names.
 * @param {string[]} names
 */
function aptPaths(...names) {
  const shell = run('apt-config', ['shell', ...names.flatMap((name, i) => [`P${i}`, name])]);
  return names.map((_, i) => new RegExp(`^P${i}='([^']*)'$`, 'm').exec(shell)?.[1] ?? '');
}

/**
 * Creates an empty folder for downloads, and runs apt-get there with recent lists. Its configuration writes only to
 * this folder and to the lists.
 * @param {string} work
 * @param {object} options
 * @param {string} options.status the installed packages, as in dpkg's file
 * @param {{ name: string, text: string } | undefined} options.source undefined: those of the machine
 * @param {string[]} args
 * @returns the paths of the downloaded packages
 */
function download(work, { status, source }, args) {
  rmSync(work, { recursive: true, force: true });
  const digest = createHash('sha256')
    .update(source?.text ?? 'those of the machine')
    .digest('hex');
  const shared = join(LISTS, digest.slice(0, 16));
  const archives = join(work, 'archives');
  for (const path of [`${archives}/partial`, `${shared}/lists/partial`, `${shared}/cache`]) {
    mkdirSync(path, { recursive: true });
  }
  /** apt reads the lists again when one of its files is newer. */
  const write = (/** @type {string} */ name, /** @type {string} */ text) => {
    const path = join(shared, name);
    if (textOf(path) !== text) writeFileSync(path, text);
    return path;
  };
  const sources =
    source === undefined
      ? []
      : [
          `Dir::Etc::sourcelist "${write(source.name, source.text)}";`,
          'Dir::Etc::sourceparts "-";',
          'Dir::Etc::preferences "-";',
          'Dir::Etc::preferencesparts "-";',
          'APT::Default-Release "";',
        ];
  const conf = join(work, 'apt.conf');
  // Read after the machine's settings: keeps its proxies and keys, and clears its hooks.
  writeFileSync(
    conf,
    [
      '#clear APT::Update::Pre-Invoke;',
      '#clear APT::Update::Post-Invoke;',
      '#clear APT::Update::Post-Invoke-Success;',
      `Dir::State "${work}";`,
      `Dir::State::lists "${shared}/lists";`,
      // apt's lock is next to this file: a separate one needs no root and does not block the machine's apt.
      `Dir::State::status "${write('status', status)}";`,
      `Dir::Cache "${shared}/cache";`,
      // Images of Docker switch these off.
      'Dir::Cache::pkgcache "pkgcache.bin";',
      'Dir::Cache::srcpkgcache "srcpkgcache.bin";',
      `Dir::Cache::archives "${archives}";`,
      'APT::Sandbox::User "root";',
      'Acquire::Languages "none";',
      'Acquire::Retries "1";',
      'Acquire::http::Timeout "20";',
      'Acquire::https::Timeout "20";',
      ...sources,
      '',
    ].join('\n'),
  );
  const aptGet = (/** @type {string[]} */ ...rest) => run('apt-get', ['-c', conf, '-qq', ...rest], archives);
  const updated = join(shared, 'updated');
  const { mtimeMs = 0 } = statSync(updated, { throwIfNoEntry: false }) ?? {};
  if (Date.now() - mtimeMs >= MAX_AGE_MS) {
    aptGet(...(source === undefined ? [] : ['--error-on=any']), 'update');
    writeFileSync(updated, '');
  }
  try {
    aptGet(...args);
  } catch (error) {
    // The archive may have changed since: the next run updates the lists.
    rmSync(updated);
    throw error;
  }
  return readdirSync(archives)
    .filter((name) => name.endsWith('.deb'))
    .map((name) => join(archives, name));
}

/**
 * Downloads packages as `apt-get` does with these arguments, from the first suite where `use` succeeds with them. The
 * archives are removed after that.
 * @template T
 * @param {string} folder for work
 * @param {readonly (string | undefined)[]} suites undefined: the sources of the machine as they are
 * @param {string} status the installed packages, as in dpkg's file
 * @param {string[]} args
 * @param {(archives: string[]) => T} use throws CommandError if the packages do not work here
 * @returns {T}
 */
export function withPackages(folder, suites, status, args, use) {
  const release = /^VERSION_CODENAME=(\S+)$/m.exec(textOf('/etc/os-release') ?? '')?.[1] ?? '';
  const [list = '', parts = ''] = aptPaths('Dir::Etc::sourcelist/f', 'Dir::Etc::sourceparts/d');
  const work = join(folder, 'work');
  /** @type {string[]} */
  const problems = [];
  for (const suite of suites) {
    const source = suite === undefined ? undefined : sourceInSuite({ list, parts }, release, suite);
    if (suite !== undefined && source === undefined)
      throw new CommandError(`no package source for the release "${release}" is configured`);
    try {
      return use(download(work, { status, source }, args));
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      problems.push(`${suite ?? release}: ${error.message}`);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  throw new CommandError(problems.join('; '));
}

/**
 * Unpacks a program with the libraries that the machine does not have, and writes a launcher at its path last, so that
 * it is never incomplete. Nothing is installed, so no service is started.
 * @param {string} path
 * @param {import('./programs.mjs').PackageFacts} facts
 */
export function unpackProgram(path, { package: name, inPackage, versionArgs, withPackages: others = [], suites }) {
  const [file = ''] = aptPaths('Dir::State::status/f');
  // They are unpacked even if the machine has them, maybe from elsewhere; Go finds its sources below root/ only.
  const isOwn = (/** @type {string} */ stanza) =>
    stanza.startsWith(`Package: ${name}\n`) || (others.length > 0 && stanza.startsWith('Package: golang-'));
  const kept = readFileSync(file, 'utf8')
    .split('\n\n')
    .filter((stanza) => !isOwn(stanza));
  const install = ['install', '--download-only', '--yes', '--no-install-recommends'];
  const root = join(dirname(path), 'root');
  withPackages(dirname(path), suites, kept.join('\n\n'), [...install, ...others, name], (archives) => {
    rmSync(root, { recursive: true, force: true });
    for (const archive of archives) run('dpkg-deb', ['-x', archive, root]);
    // Debian's library folders are named after the architecture.
    const libraries = ['usr/lib', 'lib']
      .filter((lib) => existsSync(join(root, lib)))
      .flatMap((lib) => readdirSync(join(root, lib)).map((entry) => `${lib}/${entry}`))
      .filter((library) => library.includes('-linux-'));
    const found = libraries.map((library) => `$here/root/${library}`).join(':');
    // Relative to the launcher, so that a clone can be moved.
    const here = 'here=$(dirname "$(readlink -f "$0")")';
    const start = `LD_LIBRARY_PATH="${found}" exec "$here/root/${inPackage}" "$@"`;
    const launcher = `${path}.new`;
    writeFileSync(launcher, `#!/bin/sh\n${here}\n${start}\n`, { mode: 0o755 });
    run(launcher, versionArgs);
    renameSync(launcher, path);
  });
}

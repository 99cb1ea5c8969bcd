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
const SUITES = ['trixie', 'stable', 'sid'];

/**
 * Paths in apt's configuration, by their option names.
 * @param {string[]} names
 */
export function aptPaths(...names) {
  const shell = run('apt-config', ['shell', ...names.flatMap((name, i) => [`P${i}`, name])]);
  return names.map((_, i) => new RegExp(`^P${i}='([^']*)'$`, 'm').exec(shell)?.[1] ?? '');
}

/** @param {string} path */
function isRecent(path) {
  try {
    return Date.now() - statSync(path).mtimeMs < MAX_AGE_MS;
  } catch {
    return false;
  }
}

/**
 * Creates an empty folder for downloads, with an apt configuration that writes only to this folder and to the lists.
 * @param {string} folder
 * @param {object} options
 * @param {string} options.status the installed packages, as in dpkg's file
 * @param {{ name: string, text: string }} [options.source] the package source; default: those of the machine
 */
export function workFolder(folder, { status, source }) {
  const work = join(folder, 'work');
  rmSync(work, { recursive: true, force: true });
  const digest = createHash('sha256')
    .update(source?.text ?? 'those of the machine')
    .digest('hex');
  const shared = join(LISTS, digest.slice(0, 16));
  const folders = [`${work}/archives/partial`, `${work}/unpacked`, `${shared}/lists/partial`, `${shared}/cache`];
  for (const path of folders) mkdirSync(path, { recursive: true });
  /** apt reads the lists again when one of its files is newer. */
  const write = (/** @type {string} */ name, /** @type {string} */ text) => {
    const path = join(shared, name);
    if (textOf(path) !== text) writeFileSync(path, text);
    return path;
  };
  /** @type {string[]} */
  const settings = [];
  if (source !== undefined) {
    settings.push(
      `Dir::Etc::sourcelist "${write(source.name, source.text)}";`,
      'Dir::Etc::sourceparts "-";',
      'Dir::Etc::preferences "-";',
      'Dir::Etc::preferencesparts "-";',
      'APT::Default-Release "";',
    );
  }
  // Read after the machine's settings: keeps its proxies and keys, and clears its hooks.
  writeFileSync(
    join(work, 'apt.conf'),
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
      `Dir::Cache::archives "${work}/archives";`,
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
  const aptGet = (/** @type {string[]} */ ...args) => run('apt-get', ['-c', conf, '-qq', ...args], work);
  /**
   * Runs apt-get with recent lists. If it fails, runs it again with new ones: the archive may have changed.
   * @param {string[]} args
   */
  const aptGetWithLists = (...args) => {
    const updated = join(shared, 'updated');
    if (isRecent(updated)) {
      try {
        return aptGet(...args);
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
      }
    }
    aptGet(...(source === undefined ? [] : ['--error-on=any']), 'update');
    writeFileSync(updated, '');
    return aptGet(...args);
  };
  return { work, aptGet: aptGetWithLists };
}

/**
 * @param {string} folder
 * @param {{ name: string, text: string }} source
 * @param {readonly string[]} packages
 */
function downloadFrom(folder, source, packages) {
  const { work, aptGet } = workFolder(folder, { status: '', source });
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
  const release = /^VERSION_CODENAME=(\S+)$/m.exec(textOf('/etc/os-release') ?? '')?.[1] ?? '';
  const [list = '', parts = ''] = aptPaths('Dir::Etc::sourcelist/f', 'Dir::Etc::sourceparts/d');
  /** @type {string[]} */
  const problems = [];
  for (const suite of suites) {
    const source = sourceInSuite({ list, parts }, release, suite);
    if (source === undefined) throw new CommandError(`no package source for the release "${release}" is configured`);
    try {
      return use(downloadFrom(folder, source, packages));
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      problems.push(`${suite}: ${error.message}`);
    } finally {
      rmSync(join(folder, 'work'), { recursive: true, force: true });
    }
  }
  throw new CommandError(problems.join('; '));
}

/**
 * Unpacks a program, and renames it last, so that it is never incomplete.
 * @param {string} path of the program
 * @param {import('./programs.mjs').PackageFacts} facts
 */
export function unpackProgram(path, facts) {
  const folder = dirname(path);
  if (facts.needsLibraries === true) {
    unpackWithLibraries(path, facts);
    return;
  }
  const unpack = (/** @type {string[]} */ [archive = '']) => {
    const unpacked = join(folder, 'work/unpacked');
    run('dpkg-deb', ['-x', archive, unpacked]);
    const program = join(unpacked, facts.inPackage);
    run(program, facts.versionArgs);
    renameSync(program, path);
  };
  withPackages(folder, [facts.package], unpack, facts.suites);
}

/**
 * The same for a program that needs libraries: from the machine's release, with the libraries that the machine does not
 * have. They are unpacked next to the program. Nothing is installed, so no service is started.
 * @param {string} path
 * @param {import('./programs.mjs').PackageFacts} facts
 */
function unpackWithLibraries(path, { package: name, inPackage, versionArgs, withPackages: others = [] }) {
  const [status = ''] = aptPaths('Dir::State::status/f');
  // Go finds its sources below root/ only: they are unpacked even if the machine has them.
  const kept = readFileSync(status, 'utf8')
    .split('\n\n')
    .filter((stanza) => others.length === 0 || !stanza.startsWith('Package: golang-'));
  const { work, aptGet } = workFolder(dirname(path), { status: kept.join('\n\n') });
  aptGet('install', '--download-only', '--yes', '--no-install-recommends', '--reinstall', ...others, name);
  for (const archive of readdirSync(join(work, 'archives')).filter((file) => file.endsWith('.deb'))) {
    run('dpkg-deb', ['-x', join(work, 'archives', archive), join(work, 'unpacked')]);
  }
  const root = join(dirname(path), 'root');
  rmSync(root, { recursive: true, force: true });
  renameSync(join(work, 'unpacked'), root);
  // Debian's library folders are named after the architecture.
  const libraries = ['usr/lib', 'lib']
    .filter((lib) => existsSync(join(root, lib)))
    .flatMap((lib) => readdirSync(join(root, lib)).map((entry) => `${lib}/${entry}`))
    .filter((library) => library.includes('-linux-'));
  const found = libraries.map((library) => `$here/root/${library}`).join(':');
  const launcher = join(work, 'launcher');
  // Relative to the launcher, so that a clone can be moved.
  const here = 'here=$(dirname "$(readlink -f "$0")")';
  const start = `LD_LIBRARY_PATH="${found}" exec "$here/root/${inPackage}" "$@"`;
  writeFileSync(launcher, `#!/bin/sh\n${here}\n${start}\n`, { mode: 0o755 });
  renameSync(launcher, path);
  try {
    run(path, versionArgs);
  } catch (error) {
    rmSync(path);
    throw error;
  }
  rmSync(work, { recursive: true, force: true });
}

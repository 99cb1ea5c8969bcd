/**
 * Downloads Debian packages from the archive of this machine, without installing them. apt works in separate folders,
 * so the system is not changed.
 */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { CommandError, run, textOf } from './run-command.ts';
import { ROOT } from './setup.mjs';

/** A program in a Debian package. */
export interface PackageFacts {
  readonly package: string;
  /** The path of the program in the package. */
  readonly inPackage: string;
  /** Arguments to print its version, to test that it runs on this machine. */
  readonly versionArgs: readonly string[];
  /** Those that are tried; by default the machine's release. */
  readonly suites?: readonly string[];
  /** Packages of Go that are unpacked beside it, with all that they depend on. */
  readonly withPackages?: readonly string[];
}

/** A file of apt with the address of an archive. */
interface Source {
  readonly name: string;
  readonly text: string;
}

/**
 * The package lists of apt, a folder for each set of sources. Programs share them: to download and read those of Debian
 * takes four seconds of CPU time.
 */
const LISTS = join(ROOT, 'node_modules/.cache/clusterpass/package-lists');
/** Older lists are updated. */
const MAX_AGE_MS = 60 * 60 * 1000;

/** Debian suites with recent enough releases, in the order in which they are tried. */
export const SUITES = ['trixie', 'stable', 'sid'];

/** A path in apt's configuration, by its option's name. */
const aptPath = (name: string): string => /='([^']*)'/.exec(run('apt-config', ['shell', 'P', name]))?.[1] ?? '';

/** The machine's package source for its release, for another suite: with the same address and the same trusted keys. */
function sourceInSuite(release: string, suite: string): Source {
  const files = globSync(join(aptPath('Dir::Etc::sourceparts/d'), '*.{list,sources}')).sort();
  for (const text of [aptPath('Dir::Etc::sourcelist/f'), ...files].map((file) => textOf(file) ?? '')) {
    const of = new RegExp(`^Suites:(?:.*\\s)?${release}(?:\\s|$)`, 'im');
    const stanza = text
      .split(/\n\s*\n/)
      .find((each) => of.test(each) && /^Types:(?:.*\s)?deb(?:\s|$)/im.test(each) && !/^Enabled:\s*no/im.test(each));
    if (stanza !== undefined) {
      const changed = stanza.replace(/^Types:.*$/im, 'Types: deb').replace(/^Suites:.*$/im, `Suites: ${suite}`);
      return { name: 'archive.sources', text: `${changed}\n` };
    }
    const line = new RegExp(`^(deb\\s+(?:\\[[^\\]]*\\]\\s+)?\\S+\\s+)${release}(\\s.*)$`, 'm').exec(text);
    if (line !== null) return { name: 'archive.list', text: `${line[1]}${suite}${line[2]}\n` };
  }
  throw new CommandError(`no package source for the release "${release}" is configured`);
}

/**
 * Creates an empty folder for downloads, and runs apt-get there with recent lists. Its configuration writes only to
 * this folder and to the lists. Returns the paths of the downloaded packages.
 */
function download(work: string, status: string, source: Source, args: readonly string[]): string[] {
  rmSync(work, { recursive: true, force: true });
  const shared = join(LISTS, createHash('sha256').update(source.text).digest('hex').slice(0, 16));
  const archives = join(work, 'archives');
  for (const path of [`${archives}/partial`, `${shared}/lists/partial`, `${shared}/cache`]) {
    mkdirSync(path, { recursive: true });
  }
  /** apt reads the lists again when one of its files is newer. */
  const write = (name: string, text: string): string => {
    const path = join(shared, name);
    if (textOf(path) !== text) writeFileSync(path, text);
    return path;
  };
  const conf = join(work, 'apt.conf');
  // Read after the machine's settings: keeps its proxies and keys, and clears its hooks. apt's lock is next to the file
  // of the status: a separate one needs no root and does not block the machine's apt. Images of Docker switch off the
  // caches.
  writeFileSync(
    conf,
    `#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "${work}";
Dir::State::lists "${shared}/lists";
Dir::State::status "${write('status', status)}";
Dir::Cache "${shared}/cache";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
Dir::Cache::archives "${archives}";
Dir::Etc::sourcelist "${write(source.name, source.text)}";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "-";
APT::Default-Release "";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
`,
  );
  const aptGet = (...rest: string[]): string => run('apt-get', ['-c', conf, '-qq', ...rest], { cwd: archives });
  const updated = join(shared, 'updated');
  const { mtimeMs = 0 } = statSync(updated, { throwIfNoEntry: false }) ?? {};
  if (Date.now() - mtimeMs >= MAX_AGE_MS) {
    aptGet('--error-on=any', 'update');
    writeFileSync(updated, '');
  }
  try {
    aptGet(...args);
  } catch (error) {
    // The archive may have changed since: the next run updates the lists.
    rmSync(updated);
    throw error;
  }
  return globSync(join(archives, '*.deb'));
}

/**
 * Downloads packages as `apt-get` does with these arguments, from the first suite where `use` succeeds with them: it
 * throws CommandError if they do not work here. The archives are removed after that.
 */
export function withPackages<T>(
  { folder, suites, status }: { folder: string; suites?: readonly string[] | undefined; status: string },
  args: readonly string[],
  use: (archives: string[]) => T,
): T {
  const release = /^VERSION_CODENAME=(\S+)$/m.exec(textOf('/etc/os-release') ?? '')?.[1] ?? '';
  const work = join(folder, 'work');
  const problems: string[] = [];
  for (const suite of suites ?? [release]) {
    try {
      return use(download(work, status, sourceInSuite(release, suite), args));
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      problems.push(`${suite}: ${error.message}`);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  throw new CommandError(problems.join('; '));
}

/**
 * Unpacks a program with the libraries that the machine does not have, and writes a launcher at its path last, so that
 * it is never incomplete. Nothing is installed, so no service is started.
 */
export function unpackProgram(path: string, facts: PackageFacts): void {
  const { package: name, inPackage, versionArgs, withPackages: others = [], suites } = facts;
  // They are unpacked even if the machine has them, maybe from elsewhere; Go finds its sources below root/ only.
  const isOwn = (stanza: string): boolean =>
    stanza.startsWith(`Package: ${name}\n`) || (others.length > 0 && stanza.startsWith('Package: golang-'));
  const installed = readFileSync(aptPath('Dir::State::status/f'), 'utf8').split('\n\n');
  const status = installed.filter((stanza) => !isOwn(stanza)).join('\n\n');
  const args = ['install', '--download-only', '--yes', '--no-install-recommends', ...others, name];
  const folder = dirname(path);
  const root = join(folder, 'root');
  withPackages({ folder, suites, status }, args, (archives) => {
    rmSync(root, { recursive: true, force: true });
    for (const archive of archives) run('dpkg-deb', ['-x', archive, root]);
    // Debian's library folders are named after the architecture.
    const libraries = globSync(join(root, '{usr/lib,lib}/*-linux-*'));
    const found = libraries.map((library) => `$here/${relative(folder, library)}`).join(':');
    // Relative to the launcher, so that a clone can be moved.
    const here = 'here=$(dirname "$(readlink -f "$0")")';
    const start = `LD_LIBRARY_PATH="${found}" exec "$here/root/${inPackage}" "$@"`;
    const launcher = `${path}.new`;
    writeFileSync(launcher, `#!/bin/sh\n${here}\n${start}\n`, { mode: 0o755 });
    run(launcher, versionArgs);
    renameSync(launcher, path);
  });
}

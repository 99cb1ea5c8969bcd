/**
 * Downloads programs that only the tests need, and unpacks them without installing them. If this fails, the tests are
 * skipped and report why.
 */
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
import { aptPaths, withPackages, workFolder } from './debian-packages.mjs';
import { run } from './run-command.mjs';

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
 * @property {string} [script] the name in that of the script that installs it, if it is not its own
 * @property {string} inPackage the path of the program in the package
 * @property {string[]} versionArgs arguments to print its version, to test that it runs on this machine
 * @property {string[]} [suites] the suites of Debian that have it, if not every recent release does
 * @property {boolean} [needsLibraries] whether it needs the shared libraries of the machine's release
 * @property {string[]} [withPackages] packages of Go that are unpacked beside it, with all that they depend on
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
    script: `scripts/setup-${facts.script ?? facts.name}.mjs`,
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

/** @param {string} path */
export function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Downloads and unpacks the program. Renames it last, so that it is never incomplete.
 * @param {TestProgram} wanted
 */
function fetchAlone(wanted) {
  const folder = dirname(wanted.path);
  const unpack = (/** @type {string[]} */ [archive = '']) => {
    const unpacked = join(folder, 'work/unpacked');
    run('dpkg-deb', ['-x', archive, unpacked]);
    const program = join(unpacked, wanted.inPackage);
    run(program, wanted.versionArgs);
    renameSync(program, wanted.path);
  };
  withPackages(folder, [wanted.package], unpack, wanted.suites);
}

/**
 * The same for a program that needs libraries: from the machine's release, with the libraries that the machine does not
 * have. They are unpacked next to the program. Nothing is installed, so no service is started.
 * @param {TestProgram} wanted
 */
function fetchWithLibraries(wanted) {
  const [status = ''] = aptPaths('Dir::State::status/f');
  const installed = readFileSync(status, 'utf8').split('\n\n');
  // Go finds its sources below root/ only: they are unpacked even if the machine has them.
  const kept = installed.filter(
    (stanza) => wanted.withPackages === undefined || !stanza.startsWith('Package: golang-'),
  );
  const { work, aptGet } = workFolder(dirname(wanted.path), { status: kept.join('\n\n') });
  const packages = [...(wanted.withPackages ?? []), wanted.package];
  aptGet('install', '--download-only', '--yes', '--no-install-recommends', '--reinstall', ...packages);
  const archives = readdirSync(join(work, 'archives')).filter((name) => name.endsWith('.deb'));
  for (const archive of archives) {
    run('dpkg-deb', ['-x', join(work, 'archives', archive), join(work, 'unpacked')]);
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

/**
 * Downloads the program if it is missing, or writes the reason for a failure to a file. Never throws.
 * @param {TestProgram} wanted
 */
export function setUpProgram(wanted) {
  if (isProgram(wanted.path)) return;
  try {
    mkdirSync(dirname(wanted.path), { recursive: true });
    console.error(`Downloading ${wanted.name} for the tests (once).`);
    if (wanted.needsLibraries === true) fetchWithLibraries(wanted);
    else fetchAlone(wanted);
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

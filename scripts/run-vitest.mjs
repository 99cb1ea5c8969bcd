import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from '../bin/run-child.mjs';

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/** @typedef {{ status: string, assertionResults: { status: string }[] }} FileResult */

/**
 * Counts the results in vitest's report. Two failures belong to no test and are added here: a file that could not be
 * loaded, and a non-zero exit code although every test passed (an unhandled rejection, a missing report).
 * @param {{ testResults: FileResult[] } | undefined} report
 * @param {number | null} exitCode
 * @returns {Counts}
 */
export function countResults(report, exitCode) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report?.testResults ?? []) {
    const failedBefore = counts.failed;
    for (const { status } of file.assertionResults) {
      if (status === 'passed') counts.passed += 1;
      else if (status === 'failed') counts.failed += 1;
      else counts.skipped += 1;
    }
    if (file.status === 'failed' && counts.failed === failedBefore) counts.failed += 1;
  }
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

/**
 * @param {string} path
 * @returns {{ testResults: FileResult[] } | undefined}
 */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Linux' file system in memory. */
const MEMORY = '/dev/shm';
const NEEDED_BYTES = 4 * 1024 ** 3;
/** What the name of the folder of a run begins with. */
export const RUN_FOLDER = 'clusterpass-test-';

/**
 * A new folder for the files of the tests. In memory if there is room: SQLite and etcd wait for the disk after each
 * write, and these tests cannot see the difference. A process that is killed loses no written data; only a power cut
 * would.
 */
export function temporaryFolder(memory = MEMORY) {
  /** @type {string | undefined} */
  let folder;
  try {
    const { bavail, bsize } = statfsSync(memory);
    if (bavail * bsize >= NEEDED_BYTES && process.availableMemory() >= NEEDED_BYTES) {
      folder = mkdtempSync(join(memory, RUN_FOLDER));
      // Tests start programs that they have written. Docker mounts it with `noexec`.
      const program = join(folder, 'program');
      writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
      const { status } = spawnSync(program);
      rmSync(program);
      if (status !== 0) {
        rmSync(folder, { recursive: true });
        folder = undefined;
      }
    }
  } catch {
    // Not on this system, or not for this user.
  }
  folder ??= mkdtempSync(join(tmpdir(), RUN_FOLDER));
  // As /tmp: some programs run as another user.
  chmodSync(folder, 0o1777);
  return folder;
}

/**
 * Runs vitest and counts the results.
 * @param {readonly string[]} args filters and options of vitest
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<Counts>}
 */
export async function runVitest(args, env = process.env) {
  const folder = temporaryFolder();
  const report = join(folder, 'report.json');
  try {
    const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const { code } = await runChild(process.execPath, [vitest, 'run', ...reporters, ...args], {
      env: { ...env, TMPDIR: folder },
    });
    return countResults(readReport(report), code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Prints the last line of a run and sets the exit code.
 * @param {Counts} counts
 */
export function finish({ passed, failed, skipped }) {
  console.log(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
  process.exitCode = failed === 0 ? 0 : 1;
}

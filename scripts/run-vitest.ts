import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChild } from '../bin/run-child.mjs';
import { textOf } from './run-command.ts';
import { ROOT } from './setup.mjs';

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Report {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { status: string }[];
  }[];
}

/**
 * Counts the results in vitest's report. Two failures belong to no test and are added here: a file that could not be
 * loaded, and a non-zero exit code although every test passed (an unhandled rejection, a missing report).
 */
function countResults({ testResults }: Report, exitCode: number | null): Counts {
  const statuses = testResults.flatMap(({ status, assertionResults }) => {
    const all = assertionResults.map((test) => test.status);
    return status === 'failed' && !all.includes('failed') ? [...all, 'failed'] : all;
  });
  const passed = statuses.filter((status) => status === 'passed').length;
  const failed = statuses.filter((status) => status === 'failed').length;
  const skipped = statuses.length - passed - failed;
  return { passed, failed: exitCode === 0 ? failed : Math.max(1, failed), skipped };
}

/** Linux' file system in memory. */
const MEMORY = '/dev/shm';
const NEEDED_BYTES = 4 * 1024 ** 3;
/** What the name of the folder of a run begins with. */
export const RUN_FOLDER = 'clusterpass-test-';

/** A folder in memory, if there is room. Tests start programs that they have written: Docker mounts with `noexec`. */
function folderInMemory(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < NEEDED_BYTES || process.availableMemory() < NEEDED_BYTES) return undefined;
    const folder = mkdtempSync(join(MEMORY, RUN_FOLDER));
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    if (spawnSync(program).status === 0) return folder;
    rmSync(folder, { recursive: true });
  } catch {
    // Not on this system, or not for this user.
  }
  return undefined;
}

/**
 * A new folder for the files of the tests. In memory if possible: SQLite and etcd wait for the disk after each write,
 * and these tests cannot see the difference. A process that is killed loses no written data; only a power cut would.
 */
export function temporaryFolder(): string {
  const folder = folderInMemory() ?? mkdtempSync(join(tmpdir(), RUN_FOLDER));
  // As /tmp: some programs run as another user.
  chmodSync(folder, 0o1777);
  return folder;
}

/** Runs vitest with these filters and options, and counts the results. */
export async function runVitest(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Counts> {
  const folder = temporaryFolder();
  const report = join(folder, 'report.json');
  try {
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const options = { env: { ...process.env, ...env, TMPDIR: folder } };
    const { code } = await runChild(process.execPath, [vitest, 'run', ...reporters, ...args], options);
    return countResults(JSON.parse(textOf(report) ?? '{"testResults":[]}'), code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints the last line of a run and sets the exit code. */
export function finish({ passed, failed, skipped }: Counts): void {
  console.log(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
  process.exitCode = failed === 0 ? 0 : 1;
}

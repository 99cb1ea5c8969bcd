import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

/**
 * Runs vitest and counts the results.
 * @param {readonly string[]} args filters and options of vitest
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<Counts>}
 */
export async function runVitest(args, env = process.env) {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-test-'));
  const report = join(folder, 'report.json');
  try {
    const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const { code } = await runChild(process.execPath, [vitest, 'run', ...reporters, ...args], { env });
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

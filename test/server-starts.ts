import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ROOT } from '../scripts/setup.mjs';

/** Counts the servers that a run of the tests starts: a start is most of the CPU time of a short test. */

/** Of the whole suite. A test that needs no options of its own uses a shared server (e2e/support/shared-server.ts). */
const MOST_STARTS = 66;
const REPORT = join(ROOT, 'node_modules/.cache/clusterpass/server-starts.txt');
const NOTES = 'SERVER_STARTS_FILE';

/** Notes that a test file starts a server. */
export function countStart(testFile: string | undefined): void {
  const notes = process.env[NOTES];
  if (notes !== undefined) appendFileSync(notes, `${relative(ROOT, testFile ?? 'unknown')}\n`);
}

/** Called by vitest once before all tests. It calls the result after them, which fails a run with too many starts. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-starts-'));
  const notes = join(folder, 'starts');
  process.env[NOTES] = notes;
  return () => {
    const starts = existsSync(notes) ? readFileSync(notes, 'utf8').trimEnd().split('\n') : [];
    rmSync(folder, { recursive: true });
    const lines = [...Map.groupBy(starts, (file) => file)].map(([file, { length }]) => `${length} ${file}`);
    writeFileSync(REPORT, `${[`${starts.length} in all`, ...lines.sort()].join('\n')}\n`);
    if (starts.length > MOST_STARTS) {
      throw new Error(`the tests started ${starts.length} servers, more than ${MOST_STARTS}: ${REPORT}`);
    }
  };
}

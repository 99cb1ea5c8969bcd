import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import { RUN_FOLDER, temporaryFolder } from '../scripts/run-vitest.ts';

/**
 * Called by vitest before the tests. The temporary files of a run are below one folder and go with it, so tests remove
 * none.
 */
export function setup(): (() => void) | undefined {
  // `npm test` has made it, and removes it.
  if (basename(tmpdir()).startsWith(RUN_FOLDER)) return undefined;
  const folder = temporaryFolder();
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

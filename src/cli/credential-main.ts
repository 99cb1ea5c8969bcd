import { readFileSync, writeSync } from 'node:fs';
import { CREDENTIAL } from './command-table/credential-command.ts';
import { run } from './commands/credential.ts';
import { NO_PROGRESS } from './progress.ts';
import { runAlone } from './run-alone.ts';
import { programVersion } from './version.ts';

/**
 * The entry of `clusterpass credential`, which client-go starts for every client; see bin/clusterpass.mjs. The streams
 * of stdin, stdout and stderr take long to load. Not awaited: modules that it loads later import from its bundle, and
 * would wait for its end.
 */
void runAlone(CREDENTIAL, run, {
  env: process.env,
  cwd: process.cwd(),
  /** Read for a request only. */
  get version() {
    return programVersion();
  },
  now: Date.now,
  out: { isTerminal: false, write: (text) => void writeSync(1, text) },
  err: { isTerminal: false, write: (text) => void writeSync(2, text) },
  readStdin: async () => readFileSync(0, 'utf8'),
  progress: NO_PROGRESS,
  stopped: () => new AbortController().signal,
});

import { readFileSync, writeSync } from 'node:fs';
import { programFile } from '../lib/program-files.ts';
import { type Context, Invocation, UsageError } from './command.ts';
import { run } from './commands/credential.ts';
import { FIELDS, parseCredentialFlags, USAGE_EXIT_CODE } from './credential-flags.ts';
import { failureText } from './describe-error.ts';
import { NO_PROGRESS } from './progress.ts';

/**
 * `clusterpass credential` alone, without the tables of commands and options: client-go starts it for every client. The
 * build makes one file of it. What it cannot parse is for the whole program, which explains usage.
 */
export async function runCredential(args: readonly string[], runProgram: () => Promise<unknown>): Promise<void> {
  const options = parseCredentialFlags(args);
  if (options === undefined) {
    await runProgram();
    return;
  }
  const context = contextOf();
  const invocation = new Invocation([], options, FIELDS);
  let exitCode: number;
  try {
    exitCode = (await run(context, invocation)) ?? 0;
  } catch (error) {
    context.err.write(`${failureText(error, invocation, context.env)}\n`);
    exitCode = error instanceof UsageError ? USAGE_EXIT_CODE : 1;
  }
  // All is written. A connection to a proxy that does not answer would keep the process alive.
  process.exit(exitCode);
}

/** Without the streams of stdin, stdout and stderr, which take long to load. */
const contextOf = (): Context => ({
  env: process.env,
  cwd: process.cwd(),
  /** Read for a request only. */
  get version() {
    return (JSON.parse(readFileSync(programFile('package.json'), 'utf8')) as { version: string }).version;
  },
  parentPid: process.ppid,
  now: Date.now,
  out: { isTerminal: false, write: (text) => void writeSync(1, text) },
  err: { isTerminal: false, write: (text) => void writeSync(2, text) },
  readStdin: async () => readFileSync(0, 'utf8'),
  progress: NO_PROGRESS,
  stopped: () => new AbortController().signal,
});

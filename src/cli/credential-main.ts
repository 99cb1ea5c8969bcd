import { readFileSync, writeSync } from 'node:fs';
import { programFile, workerEntry } from '../lib/program-files.ts';
import { type Context, type Flag, Invocation, UsageError } from './command.ts';
import { type Arguments, parseArguments } from './command-line.ts';
import { CREDENTIAL } from './command-table/credential-command.ts';
import { flagsOf } from './command-table/flags.ts';
import { run } from './commands/credential.ts';
import { failureText } from './describe-error.ts';
import { NO_PROGRESS } from './progress.ts';

/**
 * `clusterpass credential` alone, without the tables of commands and options: client-go starts it for every client. The
 * build makes one file of it. Wrong usage and `--help` are for the whole program, which explains usage.
 */
async function runCredential(args: readonly string[], runProgram: () => Promise<unknown>): Promise<void> {
  const flags = flagsOf(CREDENTIAL);
  const options = optionsIn(args, flags);
  if (options === undefined || options.help === true) {
    await runProgram();
    return;
  }
  const context = contextOf();
  const invocation = new Invocation([], options, flags);
  let exitCode = 0;
  try {
    await run(context, invocation);
  } catch (error) {
    context.err.write(`${failureText(error, invocation, context.env)}\n`);
    exitCode = error instanceof UsageError ? (CREDENTIAL.usageExitCode ?? 1) : 1;
  }
  // All is written. A connection to a proxy that does not answer would keep the process alive.
  process.exit(exitCode);
}

function optionsIn(args: readonly string[], flags: readonly Flag[]): Arguments['options'] | undefined {
  try {
    return parseArguments(args, CREDENTIAL, flags).options;
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
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

/**
 * The entry of `clusterpass credential`; see bin/clusterpass.mjs. Not awaited: modules that it loads later import from
 * the bundle of this one, and would wait for its end.
 */
void runCredential(process.argv.slice(3), () => import(workerEntry('main').href));

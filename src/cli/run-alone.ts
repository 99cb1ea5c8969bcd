import { workerEntry } from '../lib/program-files.ts';
import { type Command, type Context, Invocation, type Run, UsageError } from './command.ts';
import { parseArguments } from './command-line.ts';
import { flagsOf } from './command-table/flags.ts';
import { failureText } from './describe-error.ts';

/**
 * Runs the command of this process without the tables of commands and options. The build makes one file of it. Wrong
 * usage and `--help` are for the whole program, which explains usage.
 */
export async function runAlone(command: Command, run: Run, context: Context): Promise<void> {
  const options = optionsOf(command);
  if (options === undefined || options.help === true) {
    await import(workerEntry('main').href);
    return;
  }
  const invocation = new Invocation([], options);
  let exitCode: number;
  try {
    exitCode = (await run(context, invocation)) ?? 0;
  } catch (error) {
    context.err.write(`${failureText(error)}\n`);
    exitCode = error instanceof UsageError ? (command.usageExitCode ?? 1) : 1;
  }
  // All is written. A connection to a proxy that does not answer would keep the process alive.
  process.exit(exitCode);
}

function optionsOf(command: Command) {
  try {
    return parseArguments(process.argv.slice(3), command, flagsOf(command)).options;
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

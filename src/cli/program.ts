import { StatusError } from '../client/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { terminalSafe } from '../lib/text.ts';
import { type Command, type Context, type Flag, Invocation, type Run, UsageError } from './command.ts';
import { parseArguments, VERSION_FLAG } from './command-line.ts';
import { GROUPS } from './command-table/commands.ts';
import { CONNECTION_FLAGS, flagsOf, ownFlags } from './command-table/flags.ts';
import { LOCAL_COMMANDS } from './command-table/local-commands.ts';
import { failureText } from './describe-error.ts';
import { ALL_COMMANDS, commandAt, findCommand } from './find-command.ts';
import { loadCommand } from './load-command.ts';
import { withProgress } from './progress.ts';

/** Runs a command that is no client: `serve`, `store`, `admin-token`. Their code is in server/, which cli/ is not. */
export type RunLocal = (command: Command, flags: Readonly<Record<string, unknown>>, own: Context) => Promise<number>;

/** Runs a command line and returns its exit code. */
export async function runProgram(args: readonly string[], context: Context, runLocal: RunLocal): Promise<number> {
  const { words, rest } = findCommand(args);
  if (words[0] === 'help') return help(context, rest);
  const command = commandAt(words);
  if (command === undefined) return withoutCommand(context, words, rest);
  const isLocal = LOCAL_COMMANDS.includes(command);
  const flags = isLocal
    ? [...flagsOf(command), ...(await import('./option-flags.ts')).optionFlags(command)]
    : flagsOf(command);
  const parsed = parsedOrRefused(context, command, rest, flags);
  if (typeof parsed === 'number') return parsed;
  if (parsed.options.help === true) return help(context, words);
  if (isLocal) return withProgress(context, (own) => runLocal(command, parsed.options, own));
  const invocation = new Invocation(parsed.args, parsed.options, flags);
  const cluster = command.isPlugin === true ? undefined : clusterOf(command, invocation);
  return runCommand(() => loadCommand(command), context, invocation, command.usageExitCode, cluster);
}

/** Of a command for one cluster. */
const clusterOf = ({ arguments: [argument] = [] }: Command, invocation: Invocation): string | undefined =>
  invocation.text('cluster') ?? (argument?.isCluster === true ? invocation.args[0] : undefined);

function parsedOrRefused(context: Context, command: Command, rest: readonly string[], flags: readonly Flag[]) {
  try {
    return parseArguments(rest, command, flags);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return refuse(context, command.path, error.message, command.usageExitCode);
  }
}

function refuse({ err }: Context, path: readonly string[], problem: string, exitCode = 1): number {
  err.write(`error: ${problem}\nSee '${['clusterpass', ...path, '--help'].join(' ')}' for usage.\n`);
  return exitCode;
}

/** The program itself, a group, or a command that does not exist. */
async function withoutCommand(context: Context, words: readonly string[], rest: readonly string[]): Promise<number> {
  const path = words.filter((word, at) => at === 0 && Object.hasOwn(GROUPS, word));
  if (words.length > path.length) return refuse(context, path, unknownCommand(words, path));
  const anything = { path, summary: '', examples: [], arguments: [{ name: '[WORD...]', doc: '' }] };
  const parsed = parsedOrRefused(context, anything, rest, [...CONNECTION_FLAGS, VERSION_FLAG]);
  if (typeof parsed === 'number') return parsed;
  if (parsed.options.version === true) context.out.write(`${context.version}\n`);
  else if (parsed.options.help === true) return help(context, words);
  else {
    context.err.write(await helpOf(words));
    return 1;
  }
  return 0;
}

function unknownCommand(words: readonly string[], path: readonly string[]): string {
  const name = words.at(-1) ?? '';
  const all = ALL_COMMANDS.map((command) => command.path);
  const known = all.filter(([first]) => path.length === 0 || first === path[0]).map((each) => each[path.length] ?? '');
  const guess = nearest(name, ['help', ...known]) ?? (path.length > 0 ? known.filter(Boolean).join(' or ') : undefined);
  return `unknown command '${terminalSafe(name)}'${guess === undefined ? '' : `\n(Did you mean ${guess}?)`}`;
}

async function help(context: Context, words: readonly string[]): Promise<number> {
  const at = words.findIndex((_, end) => !isKnown(words.slice(0, end + 1)));
  if (at >= 0) return refuse(context, words.slice(0, at), unknownCommand(words.slice(0, at + 1), words.slice(0, at)));
  context.out.write(await helpOf(words));
  return 0;
}

const isKnown = (words: readonly string[]): boolean =>
  commandAt(words) !== undefined || (words.length === 1 && Object.hasOwn(GROUPS, words[0] ?? ''));

async function helpOf(words: readonly string[]): Promise<string> {
  const { commandHelp, groupHelp, programHelp } = await import('./help.ts');
  const command = commandAt(words);
  if (command === undefined) return words[0] === undefined ? programHelp() : groupHelp(words[0]);
  const { optionFlags } = await import('./option-flags.ts');
  return commandHelp(command, [...ownFlags(command), ...optionFlags(command)]);
}

/** Runs one command, for one cluster perhaps, and returns its exit code. */
export async function runCommand(
  load: () => Promise<Run>,
  context: Context,
  invocation: Invocation,
  usageExitCode = 1,
  cluster?: string,
): Promise<number> {
  return withProgress(context, async (own) => {
    try {
      const run = await load();
      return (await run(own, invocation)) || 0;
    } catch (error) {
      own.err.write(`${failureText(error, invocation, own.env)}\n`);
      if (cluster !== undefined && error instanceof StatusError) {
        const { clusterHint } = await import('./select-clusters.ts');
        const hint = await clusterHint(own, invocation, cluster, error);
        if (hint !== undefined) own.err.write(`${hint}\n`);
      }
      return error instanceof UsageError ? usageExitCode : 1;
    }
  });
}

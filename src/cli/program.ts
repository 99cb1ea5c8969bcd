import { Command as Commander, Option } from 'commander';
import { StatusError } from '../client/errors.ts';
import {
  CliError,
  type Command,
  type Context,
  type Flag,
  Invocation,
  optionName,
  type Run,
  UsageError,
} from './command.ts';
import { commandLine } from './command-line.ts';
import { COMMANDS, GROUPS } from './command-table/commands.ts';
import { CONNECTION_FLAGS, docOf, flagsOf } from './command-table/flags.ts';
import { failureText } from './describe-error.ts';
import { HELP_LAYOUT } from './help-layout.ts';
import { loadCommand } from './load-command.ts';
import { ProgressLine } from './progress.ts';

/** The program without its commands. */
export const newProgram = ({ version, out, err }: Pick<Context, 'version' | 'out' | 'err'>): Commander =>
  new Commander('clusterpass')
    .description('Lists the Kubernetes clusters of a fleet and issues short-lived passes to them.')
    .version(version, '--version')
    .showHelpAfterError("See 'clusterpass --help' for usage.")
    .configureHelp(HELP_LAYOUT)
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });

/** Adds the commands of the table that `args` can name to a program; `finish` gets the exit code. */
export function addCommands(
  program: Commander,
  args: readonly string[],
  context: Context,
  finish: (code: number) => void,
): void {
  const groups = new Map<string, Commander>();
  for (const command of commandsFor(program, args)) {
    const parent = command.path.length === 1 ? program : groupOf(program, groups, command.path[0] ?? '');
    const leaf = addCommand(parent, command);
    // A command may have others below it: `servers`, `servers use`.
    if (command.path.length === 1) groups.set(command.path[0] ?? '', leaf);
    leaf.action(async () => {
      const args = leaf.processedArgs.flat().filter((value) => value !== undefined);
      const invocation = new Invocation(args.map(String), leaf.opts(), flagsOf(command));
      const cluster = command.isPlugin === true ? undefined : clusterOf(command, invocation);
      finish(await runCommand(() => loadCommand(command), context, invocation, command.usageExitCode, cluster));
    });
  }
  addHelp(program);
  program.addHelpText('after', connectionHelp);
  // The only method of commander that gets the whole command line before it is parsed.
  const parseOptions = program.parseOptions.bind(program);
  program.parseOptions = (args) => parseOptions(normalized(program, args));
}

/** Of a command for one cluster. */
const clusterOf = ({ arguments: [argument] = [] }: Command, invocation: Invocation): string | undefined =>
  invocation.text('cluster') ?? (argument?.isCluster === true ? invocation.args[0] : undefined);

/** The commands that start with the first word; all, if no command does. Adding all takes 20 ms of each start. */
function commandsFor(program: Commander, [first]: readonly string[]): readonly Command[] {
  const ofFirst = COMMANDS.filter(({ path: [word] }) => word === first);
  const isNamed = ofFirst.length > 0 || program.commands.some((command) => command.name() === first);
  return isNamed ? ofFirst : COMMANDS;
}

/** Adds one command to its parent, without an action. */
export function addCommand(parent: Commander, command: Command): Commander {
  const leaf = parent
    .command(command.path.at(-1) ?? '')
    .description(plain(command.summary))
    .summary(plain(command.summary))
    .aliases([...(command.aliases ?? [])])
    .allowExcessArguments(false)
    .showHelpAfterError(`See 'clusterpass ${command.path.join(' ')} --help' for usage.`);
  for (const { name: argument, doc } of command.arguments ?? []) leaf.argument(argument, plain(doc));
  for (const flag of flagsOf(command)) leaf.addOption(optionFor(flag));
  const { usageExitCode: exitCode } = command;
  if (exitCode !== undefined)
    leaf.error = (text, options) => Commander.prototype.error.call(leaf, text, { ...options, exitCode });
  return leaf.addHelpText('after', `\nExamples:\n${command.examples.map((line) => `  ${line}`).join('\n')}`);
}

function normalized(program: Commander, args: string[]): string[] {
  try {
    return commandLine(args);
  } catch (error) {
    const { usageExitCode: exitCode = 1 } = COMMANDS.find(({ path: [word = ''] }) => word === firstWord(args)) ?? {};
    if (error instanceof CliError) program.error(`error: ${error.message}`, { exitCode });
    throw error;
  }
}

const firstWord = (args: readonly string[]): string | undefined => args.find((arg) => !arg.startsWith('-'));

/** `help get clusters`: commander's own help command takes one word only. */
function addHelp(program: Commander): void {
  const help = program
    .helpCommand(false)
    .command('help')
    .argument('[COMMAND...]', 'The command.')
    .description('Show the help of a command.');
  help.action(() => {
    let found = program;
    for (const word of help.args) {
      const next = found.commands.find((command) => command.name() === word || command.aliases().includes(word));
      if (next === undefined) found.error(`error: unknown command '${word}'`);
      else found = next;
    }
    found.help();
  });
}

/** Connection flags may precede the command, so the help of the program and of each group lists them. */
function connectionHelp({ command }: { command: Commander }): string {
  const helper = command.createHelp();
  const options = CONNECTION_FLAGS.map(optionFor);
  const width = Math.max(...options.map(({ flags }) => flags.length));
  helper.prepareContext({ helpWidth: command.configureOutput().getOutHelpWidth?.() ?? 80 });
  const lines = options.map(({ flags, description }) => helper.formatItem(flags, width, description, helper));
  return `\nConnection options (before or after any command that connects to a server):\n${lines.join('\n')}`;
}

function groupOf(program: Commander, groups: Map<string, Commander>, name: string): Commander {
  const known = groups.get(name);
  if (known !== undefined) return known;
  const group = program
    .command(name)
    .description(GROUPS[name] ?? '')
    .showHelpAfterError(`See 'clusterpass ${name} --help' for usage.`)
    .addHelpText('after', connectionHelp);
  groups.set(name, group);
  return group;
}

const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];

function optionFor(flag: Flag): Option {
  const { flags, repeatable, default: fallback, conflicts = [], variable } = flag;
  const doc = docOf(flag);
  const option = new Option(flags, plain(variable === undefined ? doc : `${doc} (variable: ${variable})`));
  if (repeatable === true) option.argParser(collect);
  if (fallback !== undefined) option.default(fallback);
  return option.conflicts(conflicts.map(optionName));
}

/** The table is written in Markdown for docs/cli.md; a terminal shows no code spans. */
const plain = (text: string): string => text.replaceAll('`', '');

/** Runs one command, for one cluster perhaps, and returns its exit code. */
export async function runCommand(
  load: () => Promise<Run>,
  context: Context,
  invocation: Invocation,
  usageExitCode = 1,
  cluster?: string,
): Promise<number> {
  const line = context.err.isTerminal ? new ProgressLine(context.err) : undefined;
  try {
    const run = await load();
    return (await run(line?.in(context) ?? context, invocation)) ?? 0;
  } catch (error) {
    line?.end();
    context.err.write(`${failureText(error, invocation, context.env)}\n`);
    if (cluster !== undefined && error instanceof StatusError) {
      const { clusterHint } = await import('./suggest-cluster.ts');
      const hint = await clusterHint(context, invocation, cluster, error);
      if (hint !== undefined) context.err.write(`${hint}\n`);
    }
    return error instanceof UsageError ? usageExitCode : 1;
  } finally {
    line?.end();
  }
}

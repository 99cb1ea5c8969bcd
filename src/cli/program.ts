import { Command as Commander, Option } from 'commander';
import { CliError, type Command, type Context, type Flag, Invocation } from './command.ts';
import { commandLine } from './command-line.ts';
import { COMMANDS, GROUPS } from './command-table/commands.ts';
import { CONNECTION_FLAGS } from './connection-flags.ts';
import { describeError } from './describe-error.ts';
import { ProgressLine } from './progress.ts';

/** Every flag of a command, its own first. */
export const flagsOf = ({ flags = [], connects = true }: Pick<Command, 'flags' | 'connects'>): readonly Flag[] => [
  ...flags,
  ...(connects ? CONNECTION_FLAGS : []),
];

/** The program without its commands. What it says itself goes where the commands' output goes. */
export const newProgram = ({ version, out, err }: Pick<Context, 'version' | 'out' | 'err'>): Commander =>
  new Commander('clusterpass')
    .description('The front desk of a fleet of Kubernetes clusters.')
    .version(version, '--version')
    .showHelpAfterError("See 'clusterpass --help' for usage.")
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });

/** Puts the table's commands on a program; `finish` gets the exit code. */
export function addCommands(program: Commander, context: Context, finish: (code: number) => void): void {
  const parents = new Map<string, Commander>();
  for (const command of COMMANDS) {
    const parent = command.path.length === 1 ? program : parentOf(program, parents, command.path[0] ?? '');
    const leaf = addRow(parent, command);
    leaf.action(async () => {
      const args = leaf.processedArgs.flat().filter((value) => value !== undefined);
      finish(await runCommand(command, context, new Invocation(args.map(String), leaf.opts())));
    });
  }
  addHelp(program);
  program.addHelpText('after', connectionHelp);
  // The one place that sees the whole command line before any of it is understood.
  const parseOptions = program.parseOptions.bind(program);
  program.parseOptions = (args) => parseOptions(understood(program, args));
}

/** Puts one row of a table on its parent, without what it does. */
export function addRow(parent: Commander, command: Omit<Command, 'load'>): Commander {
  const leaf = parent
    .command(command.path.at(-1) ?? '')
    .description(plain(command.summary))
    .summary(plain(command.summary))
    .aliases([...(command.aliases ?? [])])
    .allowExcessArguments(false)
    .showHelpAfterError(`See 'clusterpass ${command.path.join(' ')} --help' for usage.`);
  for (const { name: argument, doc } of command.arguments ?? []) leaf.argument(argument, plain(doc));
  for (const flag of flagsOf(command)) leaf.addOption(optionFor(flag));
  return leaf.addHelpText('after', `\nExamples:\n${command.examples.map((line) => `  ${line}`).join('\n')}`);
}

function understood(program: Commander, args: string[]): string[] {
  try {
    return commandLine(args);
  } catch (error) {
    if (error instanceof CliError) program.error(`error: ${error.message}`);
    throw error;
  }
}

/** `help get clusters`: commander's own takes one word only. */
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

/** They may stand anywhere, so whoever has not got as far as a command has to learn of them, too. */
function connectionHelp({ command }: { command: Commander }): string {
  const helper = command.createHelp();
  const options = CONNECTION_FLAGS.map(optionFor);
  const width = Math.max(...options.map(({ flags }) => flags.length));
  helper.prepareContext({ helpWidth: command.configureOutput().getOutHelpWidth?.() ?? 80 });
  const lines = options.map(({ flags, description }) => helper.formatItem(flags, width, description, helper));
  return `\nConnection options (before or after any command that talks to a server):\n${lines.join('\n')}`;
}

function parentOf(program: Commander, parents: Map<string, Commander>, name: string): Commander {
  const known = parents.get(name);
  if (known !== undefined) return known;
  const made = program
    .command(name)
    .description(GROUPS[name] ?? '')
    .showHelpAfterError(`See 'clusterpass ${name} --help' for usage.`)
    .addHelpText('after', connectionHelp);
  parents.set(name, made);
  return made;
}

const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];

function optionFor({ flags, doc, repeatable, default: fallback, variable }: Flag): Option {
  const option = new Option(flags, plain(variable === undefined ? doc : `${doc} (variable: ${variable})`));
  if (repeatable === true) option.argParser(collect);
  if (fallback !== undefined) option.default(fallback);
  return option;
}

/** The documentation is written in Markdown, and a terminal shows it as it is. */
const plain = (text: string): string => text.replaceAll('`', '');

/** Runs one command to its end; gives the exit code. */
export async function runCommand(command: Command, context: Context, invocation: Invocation): Promise<number> {
  const line = context.err.isTerminal ? new ProgressLine(context.err) : undefined;
  try {
    const { run } = await command.load();
    return (await run(line?.in(context) ?? context, invocation)) ?? 0;
  } catch (error) {
    line?.end();
    const text = describeError(error);
    context.err.write(`${text ?? `error: ${error instanceof Error ? error.stack : String(error)}`}\n`);
    return 1;
  } finally {
    line?.end();
  }
}

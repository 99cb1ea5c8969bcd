import type { Command, Flag } from './command.ts';
import { HELP_FLAG, VERSION_FLAG } from './command-line.ts';
import { ALL_COMMANDS, GROUPS, SECTIONS } from './command-table/commands.ts';
import { CONNECTION_FLAGS, docOf, flagsOf } from './command-table/flags.ts';
import { LOCAL_COMMANDS } from './command-table/local-commands.ts';

/** The help of the program, of a group and of a command, for a terminal of 80 columns. */

const WIDTH = 80;
/** A longer term has its description on the lines below it. */
const MAX_TERM_WIDTH = 30;

type Item = readonly [term: string, description: string];

/** The table is written in Markdown for docs/cli.md; a terminal shows no code spans. */
const plain = (text: string): string => text.replaceAll('`', '');

function wrapped(text: string, width: number): string[] {
  const lines = [''];
  for (const word of plain(text).split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function section(title: string, items: readonly Item[]): string {
  if (items.length === 0) return '';
  const column = Math.min(MAX_TERM_WIDTH, Math.max(...items.map(([term]) => term.length)));
  const indent = ' '.repeat(column + 4);
  const lines = items.flatMap(([term, description]) => {
    const text = wrapped(description, WIDTH - indent.length);
    if (description === '') return [`  ${term}`];
    const [first = '', ...others] = term.length > column ? ['', ...text] : text;
    return [`  ${term.padEnd(column)}  ${first}`.trimEnd(), ...others.map((line) => `${indent}${line}`)];
  });
  return `\n${title}\n${lines.join('\n')}\n`;
}

function flagItem(flag: Flag): Item {
  const { flags, default: fallback, variable } = flag;
  const notes = [
    ...(fallback === undefined ? [] : [`(default: ${JSON.stringify(fallback)})`]),
    ...(variable === undefined ? [] : [`(variable: ${variable})`]),
  ];
  return [flags, [docOf(flag), ...notes].join(' ')];
}

const titled = (usage: string, summary: string): string =>
  `Usage: clusterpass ${usage}\n\n${wrapped(summary, WIDTH).join('\n')}\n`;

/** `get clusters|cluster [options] [NAME...]` */
function usageOf({ path, aliases = [], arguments: args = [] }: Command): string {
  return [
    [...path, ...aliases.map((alias) => `|${alias}`)].join(' ').replaceAll(' |', '|'),
    '[options]',
    ...args.map(({ name }) => name),
  ].join(' ');
}

export function commandHelp(command: Command, flags: readonly Flag[]): string {
  const { summary, arguments: args = [], examples } = command;
  return [
    titled(usageOf(command), summary),
    section(
      'Arguments:',
      args.map(({ name, doc }): Item => [name.replace(/[<>[\].]/g, ''), doc]),
    ),
    section('Options:', [...flags, HELP_FLAG].map(flagItem)),
    command.connects === false ? '' : CONNECTION_HINT,
    `\nExamples:\n${examples.map((line) => `  ${line}\n`).join('')}`,
  ].join('');
}

/** These flags are listed once, in the help of the program. */
const CONNECTION_HINT = "\nConnection options, e.g. --server: see 'clusterpass --help'.\n";

const commandItem = (command: Command): Item => [
  [
    command.path.at(-1),
    flagsOf(command).length === 0 ? [] : '[options]',
    (command.arguments ?? []).map(({ name }) => name),
  ]
    .flat(2)
    .join(' '),
  command.summary,
];

/** The commands of a group, with their summaries. */
export const secondWords = (group: string): readonly Item[] =>
  ALL_COMMANDS.filter(({ path }) => path[0] === group && path.length > 1).map(commandItem);

export function groupHelp(group: string): string {
  return `${titled(`${group} [options] [command]`, GROUPS[group] ?? '')}${section('Options:', [flagItem(HELP_FLAG)])}${section('Commands:', secondWords(group))}${CONNECTION_HINT}`;
}

/** The first words of all commands, with their summaries, by section. */
function sections(): readonly (readonly [title: string, items: readonly Item[]])[] {
  const seen = new Set<string>();
  return [...SECTIONS, ['Run a server', LOCAL_COMMANDS] as const].map(([title, commands]) => {
    const firsts = commands.filter(({ path: [first = ''] }) => !seen.has(first) && seen.add(first));
    return [
      title,
      firsts.map((command): Item => {
        const [first = '', ...more] = command.path;
        return more.length === 0 ? commandItem(command) : [first, GROUPS[first] ?? ''];
      }),
    ];
  });
}

export const firstWords = (): readonly Item[] => sections().flatMap(([, items]) => items);

export const programHelp = (): string =>
  [
    titled('[options] [command]', 'Lists the Kubernetes clusters of a fleet and issues short-lived passes to them.'),
    section('Options:', [VERSION_FLAG, HELP_FLAG].map(flagItem)),
    ...sections().map(([title, items]) => section(`${title}:`, items)),
    section(
      'Connection options (before or after any command that connects to a server):',
      CONNECTION_FLAGS.map(flagItem),
    ),
  ].join('');

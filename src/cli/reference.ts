import type { Command, Flag } from './command.ts';
import { COMMANDS } from './command-table/commands.ts';
import { STORE_COMMANDS } from './command-table/store-commands.ts';
import { CONNECTION_FLAGS } from './connection-flags.ts';

const HEAD = `# Commands of \`clusterpass\`

<!-- Generated from src/cli/command-table/ by \`npm run generate\`; edit the tables there. -->

Where a command has a counterpart in kubectl, its flags have kubectl's names and meaning; not all of kubectl's flags
are there. The exit code is 0 when all went well, 1 when something did not. What was asked for is written to stdout,
everything else to stderr. No command asks a question. There are no colours. The same commands are there as
\`kubectl clusterpass\` where \`kubectl-clusterpass\` is on the PATH. How to run the server is in
[options.md](options.md).

`;

const CONNECTION = `## How a command finds the server

All commands take these flags, before or after their names, except where it is said that they need no server. A flag
goes before its variable, and that before what was learned at the last login. A token that was given at login is sent to that server only.

`;

const cell = (text: string): string => text.replaceAll('|', '\\|');

function flagTable(flags: readonly Flag[]): string {
  const rows = flags.map(({ flags: name, doc, default: fallback, repeatable, variable }) => {
    const notes = [
      doc,
      ...(repeatable === true ? ['Can be repeated.'] : []),
      ...(fallback === undefined ? [] : [`Default: \`${fallback}\`.`]),
      ...(variable === undefined ? [] : [`Variable: \`${variable}\`.`]),
    ];
    return `| \`${cell(name)}\` | ${cell(notes.join(' '))} |\n`;
  });
  return `| Flag | Meaning |\n|---|---|\n${rows.join('')}\n`;
}

function section(command: Omit<Command, 'load'>): string {
  const { path, summary, details, arguments: args = [], flags = [], examples, connects = true, aliases = [] } = command;
  const usage = ['clusterpass', ...path, ...args.map(({ name }) => name)].join(' ');
  const others = aliases.map((alias) => `\`${[...path.slice(0, -1), alias].join(' ')}\``);
  return [
    `## ${path.join(' ')}\n\n${summary}${others.length === 0 ? '' : ` Also as ${others.join(', ')}.`}\n\n`,
    `\`\`\`\n${usage}\n\`\`\`\n\n`,
    details === undefined ? '' : `${details}\n\n`,
    connects ? '' : 'Needs no server.\n\n',
    args.length === 0 ? '' : `${args.map(({ name, doc }) => `- \`${name}\`: ${doc}\n`).join('')}\n`,
    flags.length === 0 ? '' : flagTable(flags),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\`\n\n`,
  ].join('');
}

/** The text of docs/cli.md. */
export function renderCliReference(): string {
  const commands = [...COMMANDS, ...STORE_COMMANDS];
  const list = commands
    .map(({ path, summary }) => `- [\`${path.join(' ')}\`](#${path.join('-')}): ${summary}\n`)
    .join('');
  return `${HEAD}${list}\n${CONNECTION}${flagTable(CONNECTION_FLAGS)}${commands.map(section).join('')}`.replace(
    /\n+$/,
    '\n',
  );
}

import type { Command, Flag } from './command.ts';
import { COMMANDS } from './command-table/commands.ts';
import { CONNECTION_FLAGS, docOf } from './command-table/flags.ts';
import { LOCAL_COMMANDS } from './command-table/local-commands.ts';

const HEAD = `# Commands of \`clusterpass\`

<!-- Generated from src/cli/command-table/ by \`npm run generate\`; edit the tables there. -->

For people and scripts that use the command line: every command with its flags and examples. Flags that kubectl has,
too, have the same name and meaning here, except \`--as\`: in kubectl it impersonates a user, here it names the
service account of the passes. \`clusterpass\` does not impersonate. Not all flags of kubectl exist. The exit code is
0 on success and 1 on failure, as of kubectl; wrong usage is a failure, too, and only \`credential\` and \`serve\` exit with
2 for it. Results are written to stdout, messages to stderr. No command prompts, and none prints colours. With
\`kubectl-clusterpass\` on the PATH, the same commands run as \`kubectl clusterpass\`. The options of the server are in
[options.md](options.md).

`;

const CONNECTION = `## Connection flags

All commands take these flags, before or after the command, unless they need no server. A flag takes precedence over its
environment variable, and that over the stored login. The token of a login is only sent to the server of that login, and
a token in a variable only to the server in \`CLUSTERPASS_SERVER\`, if that is set. Connections by https use the proxy of
\`HTTPS_PROXY\` (http or https), except to the hosts and networks of \`NO_PROXY\` and to this machine.

`;

const cell = (text: string): string => text.replaceAll('|', '\\|');

function flagTable(flags: readonly Flag[]): string {
  const rows = flags.map((flag) => {
    const { flags: name, default: fallback, repeatable, variable } = flag;
    const notes = [
      docOf(flag),
      ...(repeatable === true ? ['May be repeated.'] : []),
      ...(fallback === undefined ? [] : [`Default: \`${fallback}\`.`]),
      ...(variable === undefined ? [] : [`Variable: \`${variable}\`.`]),
    ];
    return `| \`${cell(name)}\` | ${cell(notes.join(' '))} |\n`;
  });
  return `| Flag | Meaning |\n|---|---|\n${rows.join('')}\n`;
}

function section(command: Command): string {
  const { path, summary, details, arguments: args = [], examples, notRun, connects = true, aliases = [] } = command;
  const usage = ['clusterpass', ...path, ...args.map(({ name }) => name)].join(' ');
  const others = aliases.map((alias) => `\`${[...path.slice(0, -1), alias].join(' ')}\``);
  return [
    `## ${path.join(' ')}\n\n${summary}${others.length === 0 ? '' : ` Alias: ${others.join(', ')}.`}\n\n`,
    `\`\`\`\n${usage}\n\`\`\`\n\n`,
    details === undefined ? '' : `${details}\n\n`,
    connects ? '' : 'Needs no server.\n\n',
    args.length === 0 ? '' : `${args.map(({ name, doc }) => `- \`${name}\`: ${doc}\n`).join('')}\n`,
    flagsText(command),
    `\`\`\`sh\n${notRun === undefined ? '' : `# not run by the tests: ${notRun}\n`}${examples.join('\n')}\n\`\`\`\n\n`,
  ].join('');
}

function flagsText({ flags = [], sameFlagsAs: other }: Command): string {
  if (other !== undefined) return `Flags: those of [\`${other}\`](#${other.replaceAll(' ', '-')}).\n\n`;
  return flags.length === 0 ? '' : flagTable(flags);
}

/** The text of docs/cli.md. */
export function renderCliReference(): string {
  const commands = [...COMMANDS, ...LOCAL_COMMANDS];
  const list = commands
    .map(({ path, summary }) => `- [\`${path.join(' ')}\`](#${path.join('-')}): ${summary}\n`)
    .join('');
  return `${HEAD}${list}\n${CONNECTION}${flagTable(CONNECTION_FLAGS)}${commands.map(section).join('')}`.replace(
    /\n+$/,
    '\n',
  );
}

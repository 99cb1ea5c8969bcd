import type { Command, Flag } from '../src/cli/command.ts';
import { COMMANDS } from '../src/cli/command-table/commands.ts';
import { CONNECTION_FLAGS, docOf, ownFlags } from '../src/cli/command-table/flags.ts';
import { LOCAL_COMMANDS } from '../src/cli/command-table/local-commands.ts';

const HEAD = `# Commands of \`clusterpass\`

<!-- Generated from src/cli/command-table/ by \`npm run generate\`; edit the tables there. -->

For people and scripts that use the command line: every command with its flags and examples. Flags that kubectl has,
too, have the same name and meaning here, except \`--as\`: in kubectl and \`auth can-i\` it impersonates a user, elsewhere
it names the service account of the passes. The exit code is 0 on success and 1 on failure; only \`credential\` and \`serve\` exit
with 2 for wrong usage. Results are written to stdout, messages to stderr. No command prompts. With
\`kubectl-clusterpass\` on the PATH, the same commands run as \`kubectl clusterpass\`.

`;

const CONNECTION = `## Connection flags

All commands but \`servers\`, \`logout\`, \`completion\`, \`serve\`, \`store\` and \`admin-token\` take these flags, before or
after the command. A flag takes precedence over its variable, and that over the stored login. The token of a login is
only sent to the server of that login, and a token in a variable only to the server in \`CLUSTERPASS_SERVER\`, if that is
set. Connections by https use the proxy of \`HTTPS_PROXY\` (http or https, Node 24.5 or newer), except to the hosts and
networks of \`NO_PROXY\` and to this machine.

`;

/** A flag of so many commands, with one meaning, is described once. */
const COMMON_FROM = 2;

function flagItem(flag: Flag): string {
  const { flags: name, default: fallback, repeatable, variable } = flag;
  const notes = [
    docOf(flag),
    ...(repeatable === true ? ['May be repeated.'] : []),
    ...(fallback === undefined ? [] : [`Default: \`${fallback}\`.`]),
    ...(variable === undefined ? [] : [`Variable: \`${variable}\`.`]),
  ];
  return `- \`${name}\`: ${notes.join(' ')}\n`;
}

const flagList = (items: readonly string[]): string => `${items.join('')}\n`;

/** The items of common flags. A flag with several meanings is described at each command. */
function commonItems(commands: readonly Command[]): readonly string[] {
  const items = commands.flatMap((command) => ownFlags(command).map(flagItem));
  const frequent = [...new Set(items)].filter((item) => items.filter((other) => other === item).length >= COMMON_FROM);
  const nameOf = (item: string): string => item.split(': ', 1)[0] ?? '';
  return frequent.filter((item) => frequent.filter((other) => nameOf(other) === nameOf(item)).length === 1);
}

function section(command: Command, common: readonly string[]): string {
  const { path, summary, details, arguments: args = [], examples, notRun, aliases = [] } = command;
  const usage = ['clusterpass', ...path, ...args.map(({ name }) => name)].join(' ');
  const others = aliases.map((alias) => `\`${[...path.slice(0, -1), alias].join(' ')}\``);
  return [
    `## ${path.join(' ')}\n\n\`${usage}\`: ${summary}${others.length === 0 ? '' : ` Alias: ${others.join(', ')}.`}\n\n`,
    details === undefined ? '' : `${details}\n\n`,
    args.length === 0 ? '' : `${args.map(({ name, doc }) => `- \`${name}\`: ${doc}\n`).join('')}\n`,
    flagsText(command, common),
    `\`\`\`sh\n${notRun === undefined ? '' : `# not tested: ${notRun}\n`}${examples.join('\n')}\n\`\`\`\n\n`,
  ].join('');
}

const withoutShort = (flags: string): string => flags.replace(/^-\w, /, '');

function flagsText(command: Command, common: readonly string[]): string {
  const flags = ownFlags(command);
  const items = flags.map(flagItem);
  const shared = flags
    .filter((_, index) => common.includes(items[index] ?? ''))
    .map(({ flags: name }) => `\`${withoutShort(name)}\``);
  const own = items.filter((item) => !common.includes(item));
  return [
    own.length === 0 ? '' : flagList(own),
    shared.length === 0 ? '' : `[Common flags](#common-flags): ${shared.join(', ')}.\n\n`,
  ].join('');
}

/** The text of docs/cli.md. */
export function renderCliReference(): string {
  const commands = [...COMMANDS, ...LOCAL_COMMANDS];
  const common = commonItems(commands);
  return [
    HEAD,
    `${CONNECTION}${flagList(CONNECTION_FLAGS.map(flagItem))}`,
    `## Common flags\n\nSeveral commands have these.\n\n${flagList(common)}`,
    ...commands.map((command) => section(command, common)),
  ]
    .join('')
    .replace(/\n+$/, '\n');
}

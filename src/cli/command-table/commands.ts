import type { Command } from '../command.ts';
import { HELP_FLAG, leadingWords, VERSION_FLAG, type Words } from '../command-line.ts';
import { ACCESS_COMMANDS } from './access-commands.ts';
import { ADMIN_COMMANDS } from './admin-commands.ts';
import { APPROVAL_COMMANDS } from './approval-commands.ts';
import { CREDENTIAL } from './credential-command.ts';
import { CONNECTION_FLAGS, output } from './flags.ts';
import { LOCAL_COMMANDS } from './local-commands.ts';
import { SESSION_COMMANDS } from './session-commands.ts';
import { USER_COMMANDS } from './user-commands.ts';

/** The groups of commands that share their first word, with their help texts. */
export const GROUPS: Readonly<Record<string, string>> = {
  get: 'List clusters, and the accounts that you may use.',
  describe: 'Show details of a cluster.',
  create: 'Request a pass, or create a token to register a cluster.',
  auth: 'Inspect authorization.',
  keys: 'Manage the signing keys.',
  servers: 'List the servers that you are logged in to, and choose the current one.',
  sync: 'Write clusters into a hub, and register those of a hub.',
  token: 'List and revoke tracked passes.',
  pass: 'Ask for passes that others may have to approve, and decide those of others.',
  request: 'Ask for access, and decide requests of others.',
  'admin-token': 'Manage the admin token of a data directory, without a server.',
  store: 'Back up, export, import and check a store, without the API.',
};

const OTHER_COMMANDS: readonly Command[] = [
  {
    path: ['mcp'],
    summary: 'Serve the Model Context Protocol on stdin and stdout, for an agent.',
    details:
      'For tools that find clusters, explain access and request passes ([agents.md](agents.md)), with your ' +
      'login and its permissions. No tool returns a token. Logs are on stderr. Ends at the end of its input.',
    flags: {
      '--read-only': 'Only the tools that change nothing.',
      '--max-result-bytes <number>': { doc: 'The longest result of a tool, from 8192 to 1048576.', default: '65536' },
      '--call-timeout <duration>': { doc: 'How long a call may take, from 1s to 5m.', default: '30s' },
    },
    notRun: 'they wait for messages on stdin',
    examples: ['clusterpass mcp', 'clusterpass mcp --read-only'],
  },
  {
    path: ['completion'],
    summary: 'Output shell completion code.',
    arguments: [
      { name: '<bash|zsh|fish>', doc: 'The shell.' },
      {
        name: '[LINE]',
        doc: 'With `next` in place of a shell: prints what the last word of this command line can be.',
      },
    ],
    connects: false,
    notRun: 'the second one needs fish',
    examples: ['source <(clusterpass completion bash)', 'clusterpass completion fish | source'],
  },
  {
    path: ['version'],
    summary: 'Print the client and server version.',
    flags: { '--client': 'Print the client version only. No server is needed.', ...output('json', 'yaml') },
    examples: ['clusterpass version', 'clusterpass version --client -o json'],
  },
];

/** In the help of the program, the commands have these titles. */
export const SECTIONS: readonly (readonly [title: string, commands: readonly Command[]])[] = [
  ['Sign in', SESSION_COMMANDS],
  ['Use clusters', [...USER_COMMANDS, CREDENTIAL]],
  ['Permissions', ACCESS_COMMANDS],
  ['Ask and approve', APPROVAL_COMMANDS],
  ['Run the fleet', ADMIN_COMMANDS],
  ['Other', OTHER_COMMANDS],
];

/** The commands that are clients of a server. Program, help, completions and docs/cli.md are made from this table. */
export const COMMANDS: readonly Command[] = SECTIONS.flatMap(([, commands]) => commands);

export const ALL_COMMANDS: readonly Command[] = [...LOCAL_COMMANDS, ...COMMANDS];

/** The words that name a command. Connection flags may precede them, and are in the rest. */
export const findCommand = (args: readonly string[]): Words =>
  leadingWords(args, [...CONNECTION_FLAGS, HELP_FLAG, VERSION_FLAG], isComplete);

const isComplete = ([first, second]: readonly string[]): boolean =>
  second !== undefined || (first !== undefined && !Object.hasOwn(GROUPS, first));

export const commandAt = (words: readonly string[]): Command | undefined =>
  ALL_COMMANDS.find(
    ({ path, aliases = [] }) =>
      path.length === words.length &&
      path.every((word, at) => word === words[at] || (at === path.length - 1 && aliases.includes(words[at] ?? ''))),
  );

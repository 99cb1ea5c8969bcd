import type { Command } from '../command.ts';
import { OPERATE_COMMANDS } from './admin-commands.ts';
import { output } from './flags.ts';
import { SESSION_COMMANDS } from './session-commands.ts';
import { USE_COMMANDS } from './user-commands.ts';

/** The table of commands. The program, its completions and docs/cli.md are made from it. */

export const GROUPS: Readonly<Record<string, string>> = {
  get: 'Show objects.',
  describe: 'Show the details of an object.',
  create: 'Create something.',
  auth: 'Ask about permissions.',
  keys: 'See and change the keys that sign tokens.',
  token: 'See which tokens are out, and revoke them.',
  store: 'Work on a store without a server: export and import a fleet, check that all is well.',
};

export const COMMANDS: readonly Command[] = [
  ...SESSION_COMMANDS,
  ...USE_COMMANDS,
  ...OPERATE_COMMANDS,
  {
    path: ['completion'],
    summary: 'Write a completion script for a shell.',
    arguments: [{ name: '<bash|zsh|fish>', doc: 'The shell.' }],
    connects: false,
    examples: ['source <(clusterpass completion bash)', 'clusterpass completion fish | source'],
    load: () => import('../commands/completion.ts'),
  },
  {
    path: ['version'],
    summary: 'Show the versions of this program and of the server.',
    flags: [{ flags: '--client', doc: 'Of this program only.' }, output('`json`, `yaml`')],
    examples: ['clusterpass version', 'clusterpass version --client -o json'],
    load: () => import('../commands/version.ts'),
  },
];

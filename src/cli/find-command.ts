import { isClusterType } from './clusters.ts';
import type { Command } from './command.ts';
import { HELP_FLAG, leadingWords, VERSION_FLAG, type Words } from './command-line.ts';
import { COMMANDS, GROUPS } from './command-table/commands.ts';
import { CONNECTION_FLAGS } from './command-table/flags.ts';
import { LOCAL_COMMANDS } from './command-table/local-commands.ts';

export const ALL_COMMANDS: readonly Command[] = [...LOCAL_COMMANDS, ...COMMANDS];

/** The words that name a command. Connection flags may precede them, and are in the rest. */
export const findCommand = (args: readonly string[]): Words =>
  withoutName(leadingWords(args, [...CONNECTION_FLAGS, HELP_FLAG, VERSION_FLAG], isComplete));

/** `get cluster/NAME`: the command is `get cluster`, and `cluster/NAME` is its first argument. */
function withoutName({ words, rest }: Words): Words {
  const [group = '', second = ''] = words;
  const [type = ''] = second.split('/', 1);
  if (!isClusterType(type)) return { words, rest };
  const bare = [group, /s(\.|$)/i.test(type) ? 'clusters' : 'cluster'];
  return second === type ? { words: bare, rest } : { words: bare, rest: [second, ...rest] };
}

const isComplete = ([first, second]: readonly string[]): boolean =>
  second !== undefined || (first !== undefined && !Object.hasOwn(GROUPS, first));

export const commandAt = (words: readonly string[]): Command | undefined =>
  ALL_COMMANDS.find(
    ({ path, aliases = [] }) =>
      path.length === words.length &&
      path.every((word, at) => word === words[at] || (at === path.length - 1 && aliases.includes(words[at] ?? ''))),
  );

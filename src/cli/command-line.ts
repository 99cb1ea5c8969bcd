import { terminalSafe } from '../lib/text.ts';
import { isClusterType } from './clusters.ts';
import { CliError, type Command, type Flag } from './command.ts';
import { COMMANDS, GROUPS } from './command-table/commands.ts';
import { CONNECTION_FLAGS, flagsOf } from './command-table/flags.ts';

/**
 * Converts a command line in kubectl's syntax to commander's: connection flags may precede the command, `-o=name` is
 * `-o name`, and `--watch=true` is `--watch`.
 */
export function commandLine(args: readonly string[]): string[] {
  const { words: given, early, rest: after } = findCommand(args);
  const { words, name } = withoutName(given);
  const rest = name === undefined ? after : [name, ...after];
  const command = commandOf(words);
  if (command === undefined) return [...words, ...early, ...rest];
  return [...words, ...separateFlags([...early, ...rest], command)];
}

/** `get cluster/NAME`: the command is `get cluster`, and `cluster/NAME` is its first argument. */
function withoutName(words: readonly string[]): { words: readonly string[]; name?: string } {
  const [group = '', second = ''] = words;
  const [type = ''] = second.split('/', 1);
  if (!Object.hasOwn(GROUPS, group)) return { words };
  if (!isClusterType(type)) return { words };
  const bare = [group, /s(\.|$)/i.test(type) ? 'clusters' : 'cluster'];
  return second === type ? { words: bare } : { words: bare, name: second };
}

interface Name {
  readonly flag: Flag;
  readonly long: string;
  readonly takesValue: boolean;
}

/** By every spelling: `-o` and `--output`. */
function namesOf(flags: readonly Flag[]): ReadonlyMap<string, Name> {
  return new Map(
    flags.flatMap((flag) => {
      const [spelled = ''] = flag.flags.split(' <');
      const names = spelled.split(', ');
      const name = { flag, long: names.at(-1) ?? '', takesValue: spelled !== flag.flags };
      return names.map((text): [string, Name] => [text, name]);
    }),
  );
}

const CONNECTION_NAMES = namesOf(CONNECTION_FLAGS);

interface Found {
  readonly words: readonly string[];
  /** Connection flags before the last word of the command. */
  readonly early: readonly string[];
  readonly rest: readonly string[];
}

function findCommand(args: readonly string[]): Found {
  const words: string[] = [];
  const early: string[] = [];
  let at = 0;
  while (at < args.length && !isComplete(words)) {
    const arg = args[at] ?? '';
    if (!arg.startsWith('-')) {
      words.push(arg);
      at += 1;
      continue;
    }
    const attached = arg.startsWith('--') ? arg.includes('=') : arg.length > 2;
    const known = CONNECTION_NAMES.get(arg.startsWith('--') ? (arg.split('=', 1)[0] ?? '') : arg.slice(0, 2));
    if (known === undefined) break;
    const length = known.takesValue && !attached ? 2 : 1;
    early.push(...args.slice(at, at + length));
    at += length;
  }
  return { words, early, rest: args.slice(at) };
}

const isComplete = ([first, second]: readonly string[]): boolean =>
  second !== undefined || (first !== undefined && !Object.hasOwn(GROUPS, first));

const commandOf = (words: readonly string[]): Command | undefined =>
  COMMANDS.find(
    ({ path, aliases = [] }) =>
      path.length === words.length &&
      path.every((word, at) => word === words[at] || (at === path.length - 1 && aliases.includes(words[at] ?? ''))),
  );

/** Splits flags and values into separate arguments. The last occurrence of a switch wins. */
function separateFlags(args: readonly string[], command: Command): string[] {
  const names = namesOf(flagsOf(command));
  const switches = new Map<string, boolean>();
  const others: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (arg === '--') {
      others.push(...args.slice(at));
      break;
    }
    if (!/^-./s.test(arg)) {
      if (command.passesArguments === true) {
        others.push('--', ...args.slice(at));
        break;
      }
      others.push(arg);
      word ??= arg;
      continue;
    }
    // The flag may be meant for that command, where `--all` or `-l` means something else.
    if (command.runsCommand === true && word !== undefined) {
      const example = `clusterpass ${command.path.join(' ')} [flags] -- ${terminalSafe(word)} ...`;
      throw new CliError(`the command and its flags go behind --, as in: ${example}`);
    }
    for (const { name, text, value } of arg.startsWith('--') ? [longFlag(arg, names)] : shortFlags(arg, names)) {
      if (name === undefined) others.push(text);
      else if (!name.takesValue) switches.set(name.long, value === undefined || booleanOf(name, value));
      else if (value !== undefined) others.push(name.long, value);
      else {
        // The next argument is the value, even if it starts with a dash.
        others.push(name.long, ...args.slice(at + 1, at + 2));
        at += 1;
      }
    }
  }
  return [...[...switches].flatMap(([long, isOn]) => (isOn ? [long] : [])), ...others];
}

interface Given {
  /** undefined: not a flag of the command; commander reports it. */
  readonly name: Name | undefined;
  readonly text: string;
  readonly value: string | undefined;
}

function longFlag(text: string, names: ReadonlyMap<string, Name>): Given {
  const sign = text.indexOf('=');
  const name = names.get(sign < 0 ? text : text.slice(0, sign));
  return { name, text, value: sign < 0 ? undefined : text.slice(sign + 1) };
}

/** `-wo=name` is `-w -o name`, and so is `-woname`. */
function shortFlags(text: string, names: ReadonlyMap<string, Name>): Given[] {
  const found: Given[] = [];
  for (let at = 1; at < text.length; at += 1) {
    const name = names.get(`-${text[at]}`);
    const after = text.slice(at + 1);
    const rest = `-${text.slice(at)}`;
    if (name === undefined) return [...found, { name, text: rest, value: undefined }];
    if (after.startsWith('=')) return [...found, { name, text: rest, value: after.slice(1) }];
    if (name.takesValue) return [...found, { name, text: rest, value: after === '' ? undefined : after }];
    found.push({ name, text: rest, value: undefined });
  }
  return found;
}

/** The spellings that kubectl accepts. */
function booleanOf({ flag }: Name, value: string): boolean {
  if (/^(1|t|T|true|TRUE|True)$/.test(value)) return true;
  if (/^(0|f|F|false|FALSE|False)$/.test(value)) return false;
  throw new CliError(`invalid argument ${JSON.stringify(value)} for "${flag.flags}": true or false`);
}

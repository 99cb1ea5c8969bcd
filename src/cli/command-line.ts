import { terminalSafe } from '../lib/text.ts';
import { type Command, type Flag, optionName, UsageError } from './command.ts';

/** Reads a command line in kubectl's syntax: `-o=name` is `-o name`, and `--all=true` is `--all`. */

/** The flags of every command, and of the program. */
export const HELP_FLAG: Flag = { flags: '-h, --help', doc: 'Show this help.' };
export const VERSION_FLAG: Flag = { flags: '--version', doc: 'Print the version.' };

/** A spelling of a flag in `Flag.flags`. */
export interface Spec {
  readonly flag: Flag;
  /** `--dry-run` */
  readonly long: string;
  readonly short: string | undefined;
  readonly takesValue: boolean;
}

export const specOf = (flag: Flag): Spec => {
  const [spelled = ''] = flag.flags.split(/ [<[]/);
  const names = spelled.split(', ');
  const long = names.at(-1) ?? '';
  return { flag, long, short: names.length > 1 ? names[0] : undefined, takesValue: flag.flags.includes(' <') };
};

/** `['json', 'yaml']` for `--output <json|yaml>`; undefined for a flag with any value. */
export const valuesOf = ({ flags }: Flag): readonly string[] | undefined => /<(\S+\|\S+)>/.exec(flags)?.[1]?.split('|');

function tokensOf(args: readonly string[], specs: readonly Spec[]) {
  const options = Object.fromEntries(
    specs.map(({ long, short, takesValue }) => [
      long.slice('--'.length),
      { type: takesValue ? 'string' : 'boolean', ...(short === undefined ? {} : { short: short.slice(1) }) } as const,
    ]),
  );
  // `import` of it would read its every export, and the credential plugin has to start fast.
  const { parseArgs } = process.getBuiltinModule('node:util');
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

export interface Words {
  readonly words: readonly string[];
  /** Everything else, with the flags that precede the last word. */
  readonly rest: readonly string[];
}

/** The first words of a command line, as many as `isComplete` wants. `early` may precede them. */
export function leadingWords(
  args: readonly string[],
  early: readonly Flag[],
  isComplete: (words: readonly string[]) => boolean,
): Words {
  const specs = early.map(specOf);
  const words: string[] = [];
  const taken = new Set<number>();
  for (const token of tokensOf(args, specs)) {
    if (isComplete(words)) break;
    if (token.kind === 'positional') {
      words.push(token.value);
      taken.add(token.index);
    } else if (token.kind === 'option-terminator' || !specs.some((spec) => isNamed(spec, token.rawName))) break;
  }
  return { words, rest: args.filter((_, at) => !taken.has(at)) };
}

const isNamed = ({ long, short }: Spec, name: string): boolean => name === long || name === short;

export interface Arguments {
  readonly args: readonly string[];
  /** By `optionName`. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** The flags and arguments of a command line behind the words of its command. Throws a UsageError. */
export function parseArguments(args: readonly string[], command: Command, flags: readonly Flag[]): Arguments {
  const specs = [...flags, HELP_FLAG].map(specOf);
  const options: Record<string, unknown> = {};
  const words: string[] = [];
  let isTerminated = false;
  for (const token of tokensOf(args, specs)) {
    if (token.kind === 'option-terminator') {
      isTerminated = true;
      continue;
    }
    const spec = token.kind === 'option' ? specs.find((each) => isNamed(each, token.rawName)) : undefined;
    if (spec === undefined && command.passesArguments === true) {
      words.push(...args.slice(token.index));
      break;
    }
    if (token.kind === 'positional') {
      words.push(token.value);
      continue;
    }
    const [word] = words;
    // The flag may be meant for that command, where `--all` or `-l` means something else.
    if (command.runsCommand === true && word !== undefined && !isTerminated) {
      const example = `clusterpass ${command.path.join(' ')} [flags] -- ${terminalSafe(word)} ...`;
      throw new UsageError(`the command and its flags go behind --, as in: ${example}`);
    }
    if (spec === undefined) {
      const name = token.rawName.startsWith('--') ? token.rawName : args[token.index];
      throw new UsageError(`unknown option '${terminalSafe(name ?? '')}'`);
    }
    setOption(options, spec, givenValue(token));
  }
  if (options.help === true) return { args: words, options };
  checkConflicts(options, specs);
  checkArguments(words, command);
  for (const { flag, long } of specs) if (flag.default !== undefined) options[optionName(long)] ??= flag.default;
  return { args: words, options };
}

/** Node leaves the sign of `-o=name` in the value. */
const givenValue = ({
  rawName,
  value,
  inlineValue,
}: Extract<ReturnType<typeof tokensOf>[number], { kind: 'option' }>): string | undefined =>
  inlineValue === true && !rawName.startsWith('--') ? value?.replace(/^=/, '') : value;

/** The last occurrence of a flag wins; those of a repeatable one are a list. */
function setOption(
  options: Record<string, unknown>,
  { flag, long, takesValue }: Spec,
  value: string | undefined,
): void {
  const isNegative = long.startsWith('--no-');
  const name = optionName(isNegative ? long.replace('--no-', '--') : long);
  if (takesValue && value === undefined) throw new UsageError(`option '${flag.flags}' argument missing`);
  const values = valuesOf(flag);
  if (value !== undefined && values?.includes(value) === false) {
    throw new UsageError(`${long}: ${JSON.stringify(value)} must be one of ${values.join(', ')}`);
  }
  if (flag.repeatable === true) options[name] = [...((options[name] as string[] | undefined) ?? []), value];
  else if (takesValue || flag.flags.endsWith(']')) options[name] = value ?? true;
  else if (value === undefined || value === 'true') options[name] = !isNegative;
  else if (value === 'false') delete options[name];
  else throw new UsageError(`${long}: ${JSON.stringify(value)} is neither true nor false`);
}

function checkConflicts(options: Readonly<Record<string, unknown>>, specs: readonly Spec[]): void {
  for (const { flag, long } of specs) {
    if (options[optionName(long)] === undefined) continue;
    const other = specs.find(
      (each) => flag.conflicts?.includes(each.long) && options[optionName(each.long)] !== undefined,
    );
    if (other !== undefined) {
      throw new UsageError(`option '${flag.flags}' cannot be used with option '${other.flag.flags}'`);
    }
  }
}

function checkArguments(words: readonly string[], { path, arguments: expected = [] }: Command): void {
  const required = expected.filter(({ name }) => name.startsWith('<'));
  const missing = required[words.length];
  if (missing !== undefined) throw new UsageError(`missing required argument '${missing.name.replace(/[<>.]/g, '')}'`);
  const count = expected.length;
  if (words.length <= count || expected.at(-1)?.name.includes('...')) return;
  const wanted = `Expected ${count} argument${count === 1 ? '' : 's'} but got ${words.length}`;
  throw new UsageError(`too many arguments for '${path.at(-1)}'. ${wanted}: ${words.map(terminalSafe).join(', ')}.`);
}

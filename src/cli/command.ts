import { parseDuration } from '../config/duration.ts';

/** One command of the program: a row of the table in command-table/. Its code is in commands/, see program.ts. */
export interface Command {
  /** `['get', 'clusters']` */
  readonly path: readonly string[];
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** Further paragraphs for docs/cli.md. */
  readonly details?: string;
  readonly arguments?: readonly Argument[];
  readonly flags?: Flags | undefined;
  /** The arguments are a command, whose own flags follow `--`. */
  readonly runsCommand?: boolean;
  /** The first argument, or flag of no such name, and what follows it, is for another program. */
  readonly passesArguments?: boolean;
  /** kubectl and controllers start it, often at once for many clusters: an error causes no further requests. */
  readonly isPlugin?: boolean;
  /** It takes options of the server, too: those of `serve`, or a part of them. */
  readonly serverOptions?: 'serve' | 'store' | 'admin-token';
  /** False for commands that need no server. */
  readonly connects?: boolean;
  /** The exit code for wrong usage. 1 as of kubectl, unless it is set. */
  readonly usageExitCode?: number;
  readonly examples: readonly string[];
  /** Why the tests do not run the examples, for docs/cli.md. */
  readonly notRun?: string;
}

interface Argument {
  /** `[NAME...]`, `<NAME>` */
  readonly name: string;
  readonly doc: string;
  /** It is the name of a cluster: shells complete it. */
  readonly isCluster?: boolean;
}

/** Flags by how they are written: what each means, with what else is known of it. */
export type Flags = Readonly<Record<string, string | FlagFacts>>;

export interface FlagFacts {
  readonly doc: string;
  /** Commands read it with `Invocation.value`, `number` and `seconds`. */
  readonly default?: string;
  /** Long names of flags that cannot be given together with this one. */
  readonly conflicts?: readonly string[];
  /** May be given more than once; the values are a list. */
  readonly repeatable?: boolean;
  /** The environment variable that sets the same value. */
  readonly variable?: string;
}

export interface Flag extends FlagFacts {
  /** `-o, --output <format>`, or `--demo [true|false]` for a switch with an optional value. */
  readonly flags: string;
}

/** Runs a command and returns its exit code. One that returns none has done what it was asked for. */
export type Run = (context: Context, invocation: Invocation) => Promise<number> | Promise<void>;

/** The process that a command runs in. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  readonly now: () => number;
  readonly out: Output;
  readonly err: Output;
  readonly readStdin: () => Promise<string>;
  /** For a command that reads while it runs. Absent where no such command is run. */
  readonly stdin?: () => AsyncIterable<Uint8Array>;
  /** The streams of a person who can be asked. Absent, or undefined, where there is no terminal. */
  readonly terminal?: () => Terminal | undefined;
  readonly progress: Progress;
  /**
   * Aborted by SIGINT, SIGTERM and SIGHUP, and when the output cannot be written. After the first call, these no longer
   * end the process.
   */
  readonly stopped: () => AbortSignal;
}

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

export interface Output {
  write(text: string): void;
  readonly isTerminal: boolean;
}

/** Reports what a command is waiting for. */
export interface Progress {
  /** Starts a wait, whose text may change; the returned function, or the end of the command, ends it. */
  waitFor(what: () => string): () => void;
}

/** The name of a flag in `Invocation`: `dryRun` for `--dry-run`. */
export const optionName = (long: string): string =>
  long.slice('--'.length).replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

/** `--dry-run` for `dryRun`. */
const flagNamed = (option: string): string =>
  `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** The parsed command line. */
export class Invocation {
  readonly args: readonly string[];
  readonly #options: Readonly<Record<string, unknown>>;

  constructor(args: readonly string[], options: Readonly<Record<string, unknown>>) {
    this.args = args;
    this.#options = options;
  }

  /** The value of a flag, by its name in camel case. */
  text(name: string): string | undefined {
    const value = this.#options[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** The value of a flag that has a default in the table. */
  value(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw new Error(`the flag ${name} has no default`);
    return value;
  }

  required(name: string, flag = flagNamed(name)): string {
    const value = this.text(name);
    if (value === undefined || value === '') throw new UsageError(`${flag} is required`);
    return value;
  }

  is(name: string): boolean {
    return this.#options[name] === true;
  }

  /** For `--no-x`, by the name `x`. */
  isOff(name: string): boolean {
    return this.#options[name] === false;
  }

  list(name: string): readonly string[] {
    const value = this.#options[name];
    return Array.isArray(value) ? value.map(String) : [];
  }

  /** The labels of a repeatable flag with `key=value`. */
  labels(name: string): Record<string, string> {
    const pairs = this.list(name).map((label) => {
      const sign = label.indexOf('=');
      if (sign <= 0) throw new CliError(`${flagNamed(name)}: ${JSON.stringify(label)} is not key=value`);
      return [label.slice(0, sign), label.slice(sign + 1)] as const;
    });
    return Object.fromEntries(pairs);
  }

  /** A whole number that is not negative, of a flag that has a default. */
  number(name: string): number {
    const value = this.value(name);
    if (!/^\d{1,9}$/.test(value))
      throw new UsageError(`${flagNamed(name)}: ${JSON.stringify(value)} is not a whole number`);
    return Number(value);
  }

  /** A duration in seconds, rounded up as kubectl does; undefined when it is not given, `0` or `0s`. */
  seconds(name: string): number | undefined {
    return parseSeconds(this.text(name), flagNamed(name));
  }
}

export function parseSeconds(value: string | undefined, flag: string): number | undefined {
  if (value === undefined || value === '0' || value === '0s') return undefined;
  const milliseconds = parseDuration(value);
  if (milliseconds === undefined || milliseconds <= 0) {
    throw new UsageError(`${flag}: ${JSON.stringify(value)} is not a duration such as 10m, 1h30m or 90s`);
  }
  return Math.ceil(milliseconds / 1000);
}

/** An error that the user can correct. The message is one sentence, printed after `error: `. */
export class CliError extends Error {
  override readonly name: string = 'CliError';
}

/** The flags, arguments or variables are wrong, so the same command fails again. */
export class UsageError extends CliError {
  override readonly name = 'UsageError';
}

export type DryRun = 'none' | 'client' | 'server';

/** `client`: the command sends no change. `server`: the server checks the change and does not persist it. */
export const dryRunOf = (invocation: Invocation): DryRun => invocation.value('dryRun') as DryRun;

export const isDryRun = (invocation: Invocation): boolean => dryRunOf(invocation) === 'server';

export const writeQuery = (invocation: Invocation) => ({
  fieldManager: 'clusterpass',
  ...(isDryRun(invocation) ? { dryRun: 'All' } : {}),
});

/** The suffix of a message about a write. */
export const noteOf = (invocation: Invocation): string => dryRunNote[dryRunOf(invocation)];

const dryRunNote: Readonly<Record<DryRun, string>> = {
  none: '',
  client: ' (dry run)',
  server: ' (server dry run)',
};

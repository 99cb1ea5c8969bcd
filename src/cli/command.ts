import type { Progress } from './progress.ts';

/** What a command is: a row of the table in commands.ts, and a file with its `run`. */

export interface Flag {
  /** As commander reads it: `-o, --output <format>`. */
  readonly flags: string;
  readonly doc: string;
  readonly default?: string;
  /** May be given more than once; the values are a list. */
  readonly repeatable?: boolean;
  /** Another way to give it. */
  readonly variable?: string;
}

export interface Argument {
  /** `[NAME...]`, `<NAME>` */
  readonly name: string;
  readonly doc: string;
}

export interface Command {
  /** `['get', 'clusters']` */
  readonly path: readonly string[];
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** Further paragraphs for the reference. */
  readonly details?: string;
  readonly arguments?: readonly Argument[];
  readonly flags?: readonly Flag[];
  /** False for commands that need no server. */
  readonly connects?: boolean;
  readonly examples: readonly string[];
  /** Loaded when it is called: a credential plugin starts with every kubectl, and must not wait for the rest. */
  readonly load: () => Promise<{ readonly run: Run }>;
}

/** Gives the exit code; nothing means 0. */
export type Run = (context: Context, invocation: Invocation) => Promise<number | undefined>;

/** The surroundings of a run. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  readonly now: () => number;
  readonly out: Output;
  readonly err: Output;
  readonly readStdin: () => Promise<string>;
  readonly progress: Progress;
  /** Aborted when the user wants it to stop. From the first use on, the command has to end by itself. */
  readonly stopped: () => AbortSignal;
}

export interface Output {
  write(text: string): void;
  /** Whether a person is looking. */
  readonly isTerminal: boolean;
}

/** What was on the command line. */
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

  /** A flag that must be there. */
  required(name: string, flag: string): string {
    const value = this.text(name);
    if (value === undefined || value === '') throw new CliError(`${flag} is required`);
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

  /** A whole number that is not negative. */
  number(name: string, flag: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^\d{1,9}$/.test(value)) throw new CliError(`${flag}: ${JSON.stringify(value)} is not a whole number`);
    return Number(value);
  }
}

/** Something that the user can mend; the message is one sentence for them, printed after `error: `. */
export class CliError extends Error {
  override readonly name = 'CliError';
}

import { createInterface } from 'node:readline/promises';
import { terminalSafe } from '../lib/text.ts';
import { CliError, type Context, type Terminal } from './command.ts';

export interface Choice<T> {
  readonly label: string;
  readonly value: T;
}

/** How many choices an error names, and how many are listed at once. */
const MAX_NAMED = 20;

/**
 * The only choice, else the one that a person picks at the terminal. Without a terminal nothing is asked, and the error
 * names the choices.
 */
export async function choose<T>(context: Context, problem: string, choices: readonly Choice<T>[]): Promise<T> {
  const [first, ...others] = choices;
  if (first !== undefined && others.length === 0) return first.value;
  const terminal = context.terminal?.();
  if (terminal === undefined || first === undefined) {
    const named = choices.slice(0, MAX_NAMED).map(({ label }) => terminalSafe(label));
    const more = choices.length - named.length;
    throw new CliError(`${problem}: ${named.join(', ') || 'there is none'}${more > 0 ? ` and ${more} more` : ''}`);
  }
  context.err.write(`${problem}:\n`);
  return pick(terminal, choices);
}

/** The choices with every typed word in them. */
function matching<T>(choices: readonly Choice<T>[], typed: string): readonly Choice<T>[] {
  const words = typed.toLowerCase().split(/\s+/);
  return choices.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}

/** Asks until one choice is left: by its number, or by words in it. */
async function pick<T>({ input, output }: Terminal, choices: readonly Choice<T>[]): Promise<T> {
  const closed = new AbortController();
  // Ctrl-C and Ctrl-D.
  const line = createInterface({ input, output }).once('close', () => closed.abort());
  try {
    for (let shown = choices; ; ) {
      const rows = shown.slice(0, MAX_NAMED).map(({ label }, at) => `${at + 1}) ${terminalSafe(label)}\n`);
      const more = shown.length - rows.length;
      output.write(`${rows.join('')}${more > 0 ? `(${more} more)\n` : ''}`);
      const answer = (await line.question('Number, or a part of the name: ', closed)).trim();
      const found = matching(choices, answer);
      const exact = found.find(({ label }) => label === answer);
      const chosen = exact ?? (found.length === 1 ? found[0] : shown[Number(answer) - 1]);
      if (chosen !== undefined) return chosen.value;
      shown = found.length === 0 ? choices : found;
    }
  } catch (error) {
    throw closed.signal.aborted ? new CliError('nothing was chosen') : error;
  } finally {
    line.close();
  }
}

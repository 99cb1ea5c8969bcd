import { clearScreenDown, createInterface, cursorTo, moveCursor } from 'node:readline';
import { clip, terminalSafe } from '../lib/text.ts';
import { CliError, type Context, type Terminal } from './command.ts';

export interface Choice<T> {
  readonly label: string;
  readonly value: T;
}

/** How many choices an error names, and how many are on the screen at once. */
const MAX_NAMED = 20;
const MAX_ROWS = 10;

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
  // Erases the line of the progress.
  context.err.write('Type to filter; up, down and Enter choose.\n');
  return pick(terminal, choices);
}

/** The choices with every typed word in them. */
export function matching<T>(choices: readonly Choice<T>[], typed: string): readonly Choice<T>[] {
  const words = typed.toLowerCase().split(/\s+/);
  return choices.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}

function pick<T>({ input, output }: Terminal, choices: readonly Choice<T>[]): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const line = createInterface({ input, output, terminal: true, historySize: 0 });
  let at = 0;
  let typed = '';
  let isOpen = true;
  const draw = (): void => {
    const found = matching(choices, line.line);
    if (typed !== line.line) at = 0;
    typed = line.line;
    at = Math.max(0, Math.min(at, found.length - 1));
    const start = Math.max(0, at - MAX_ROWS + 1);
    const rows = found.slice(start, start + MAX_ROWS).map(({ label }, index) => {
      const text = clip(terminalSafe(label), (output.columns || 80) - 3);
      return `\r\n${start + index === at ? '>' : ' '} ${text}`;
    });
    const more = found.length - rows.length;
    if (more > 0) rows.push(`\r\n  (${more} more)`);
    clearScreenDown(output);
    output.write(rows.join(''));
    moveCursor(output, 0, -rows.length);
    cursorTo(output, line.getCursorPos().cols);
  };
  const onKey = (_: string | undefined, { name }: { name?: string }): void => {
    if (name === 'down') at += 1;
    if (name === 'up') at -= 1;
    if (name === 'escape') line.close();
    else if (isOpen) draw();
  };
  input.on('keypress', onKey);
  line.on('line', () => {
    const chosen = matching(choices, typed)[at];
    if (chosen !== undefined) resolve(chosen.value);
    line.close();
  });
  line.on('close', () => {
    isOpen = false;
    input.off('keypress', onKey);
    clearScreenDown(output);
    // Not after a choice.
    reject(new CliError('nothing was chosen'));
  });
  line.on('SIGINT', () => line.close());
  line.prompt();
  draw();
  return promise;
}

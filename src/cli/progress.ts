import type { Fetch } from '../client/transport.ts';
import { every } from '../lib/rounds.ts';
import { clip } from '../lib/text.ts';
import type { Context, Output, Progress } from './command.ts';

const EVERY_MS = 1_000;
/** A line that a terminal wraps cannot be erased. */
const MAX_COLUMNS = 79;
const ERASE_LINE = '\r\u001b[K';

export const NO_PROGRESS: Progress = { waitFor: () => () => {} };

/**
 * Runs with one status line for the whole command, if standard error is a terminal: its oldest wait. It appears when
 * the command has run for a second, however short its requests are, and changes once a second. Other output and the
 * end of the command erase it.
 */
export async function withProgress<T>(context: Context, run: (own: Context) => Promise<T>): Promise<T> {
  const { err } = context;
  if (!err.isTerminal) return run(context);
  const waits = new Set<{ readonly what: () => string }>();
  let shown = '';
  const erase = (): void => {
    if (shown !== '') err.write(ERASE_LINE);
    shown = '';
  };
  const show = (): void => {
    const [oldest] = waits;
    const text = oldest && clip(`Waiting for ${oldest.what()}...`, MAX_COLUMNS);
    if (text === undefined || text === shown) return;
    erase();
    err.write(text);
    shown = text;
  };
  let stop: (() => void) | undefined;
  const waitFor = (what: () => string): (() => void) => {
    stop ??= every(EVERY_MS, show);
    const wait = { what };
    waits.add(wait);
    return () => void waits.delete(wait);
  };
  const clearing = (output: Output): Output => ({
    ...output,
    write: (text) => {
      erase();
      output.write(text);
    },
  });
  try {
    return await run({ ...context, out: clearing(context.out), err: clearing(err), progress: { waitFor } });
  } finally {
    stop?.();
    erase();
  }
}

/** A fetch that reports a wait until the response headers arrive. The body of a watch is not waited for. */
export function fetchWithProgress({ progress }: Pick<Context, 'progress'>, server: string, fetch: Fetch): Fetch {
  if (progress === NO_PROGRESS) return fetch;
  return async (input, init) => {
    const done = progress.waitFor(() => new URL(server).host);
    try {
      return await fetch(input, init);
    } finally {
      done();
    }
  };
}

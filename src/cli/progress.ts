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
 * One status line on the terminal for a whole command: its oldest wait. It appears when the command has run for a
 * second, however short its requests are, and changes once a second. Other output and the command's end erase it.
 */
class ProgressLine implements Progress {
  readonly #err: Output;
  readonly #waits = new Set<{ readonly what: () => string }>();
  #stop: (() => void) | undefined;
  #shown = '';

  constructor(err: Output) {
    this.#err = err;
  }

  /** The context for a command that shows this line. */
  in(context: Context): Context {
    const clearing = (output: Output): Output => ({
      ...output,
      write: (text) => {
        this.#erase();
        output.write(text);
      },
    });
    return { ...context, out: clearing(context.out), err: clearing(context.err), progress: this };
  }

  waitFor(what: () => string): () => void {
    this.#stop ??= every(EVERY_MS, () => this.#show());
    const wait = { what };
    this.#waits.add(wait);
    return () => {
      this.#waits.delete(wait);
    };
  }

  end(): void {
    this.#stop?.();
    this.#erase();
  }

  #show(): void {
    const [oldest] = this.#waits;
    if (oldest === undefined) return;
    const text = clip(`Waiting for ${oldest.what()}...`, MAX_COLUMNS);
    if (text === this.#shown) return;
    this.#erase();
    this.#err.write(text);
    this.#shown = text;
  }

  #erase(): void {
    if (this.#shown !== '') this.#err.write(ERASE_LINE);
    this.#shown = '';
  }
}

/** Runs with a status line if standard error is a terminal. */
export async function withProgress<T>(context: Context, run: (own: Context) => Promise<T>): Promise<T> {
  if (!context.err.isTerminal) return run(context);
  const line = new ProgressLine(context.err);
  try {
    return await run(line.in(context));
  } finally {
    line.end();
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

import type { Fetch } from '../client/transport.ts';
import type { Context, Output, Progress } from './command.ts';

const DELAY_MS = 1_000;
const ERASE_LINE = '\r\u001b[K';

export const NO_PROGRESS: Progress = { waitFor: () => () => {} };

/**
 * One status line on the terminal for a whole command. It appears when the command has run for a second, however short
 * its requests are. It is erased before any other output and when the command ends.
 */
export class ProgressLine implements Progress {
  readonly #err: Output;
  readonly #waits = new Set<symbol>();
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #shown = '';
  #what = '';

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

  waitFor(what: string): () => void {
    this.#timer ??= setTimeout(() => {
      this.#isDue = true;
      this.#show();
    }, DELAY_MS).unref();
    const wait = Symbol(what);
    this.#waits.add(wait);
    this.#what = what;
    this.#show();
    return () => {
      this.#waits.delete(wait);
    };
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#erase();
  }

  #show(): void {
    if (!this.#isDue || this.#waits.size === 0) return;
    const text = `Waiting for ${this.#what}...`;
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

/** A fetch that reports a wait until the response headers arrive. The body of a watch is not waited for. */
export function fetchWithProgress({ progress }: Pick<Context, 'progress'>, server: string, fetch: Fetch): Fetch {
  if (progress === NO_PROGRESS) return fetch;
  return async (input, init) => {
    const done = progress.waitFor(new URL(server).host);
    try {
      return await fetch(input, init);
    } finally {
      done();
    }
  };
}

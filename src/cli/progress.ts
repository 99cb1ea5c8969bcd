import type { Fetch } from '../client/transport.ts';
import type { Context, Output } from './command.ts';

const AFTER_MS = 1_000;
const ERASE = '\r\u001b[K';

/** What a command says about itself while a person waits for it. */
export interface Progress {
  /** Something is waited for until the function is called that this gives. */
  waitFor(what: string): () => void;
  /** So many of so many objects are done. */
  count(done: number, all: number): void;
}

export const NO_PROGRESS: Progress = { waitFor: () => () => {}, count: () => {} };

/**
 * One line for a whole command, to a person and only if the command has taken a second in all: ten requests of half a
 * second are five seconds of silence. The line goes before anything else is written, and when the command ends.
 */
export class ProgressLine implements Progress {
  readonly #err: Output;
  readonly #waiting = new Set<symbol>();
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #shown = '';
  #what = '';
  #counted = '';

  constructor(err: Output) {
    this.#err = err;
  }

  /** The surroundings of a command, with this line in them. */
  in(context: Context): Context {
    const clearing = (output: Output): Output => ({
      isTerminal: output.isTerminal,
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
    }, AFTER_MS).unref();
    const wait = Symbol(what);
    this.#waiting.add(wait);
    this.#what = what;
    this.#show();
    return () => {
      this.#waiting.delete(wait);
    };
  }

  count(done: number, all: number): void {
    this.#counted = ` (${done} of ${all})`;
    this.#show();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#erase();
  }

  #show(): void {
    if (!this.#isDue || this.#waiting.size === 0) return;
    const text = `Waiting for ${this.#what}...${this.#counted}`;
    if (text === this.#shown) return;
    this.#erase();
    this.#err.write(text);
    this.#shown = text;
  }

  #erase(): void {
    if (this.#shown !== '') this.#err.write(ERASE);
    this.#shown = '';
  }
}

/** A fetch that is waited for until its answer begins: what comes later, as in a watch, is shown by itself. */
export function whileWaiting({ progress }: Pick<Context, 'progress'>, server: string, fetch: Fetch): Fetch {
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

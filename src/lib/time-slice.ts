import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a request computes before others have their turn: nobody is to notice that somebody asks for a whole fleet. */
const SLICE_MS = 0.5;

/**
 * The share of one request in the turns of the event loop. Whoever goes through many objects looks now and then whether
 * its slice is over, and waits for the next one then.
 */
export class TimeSlice {
  readonly #request: { readonly signal: AbortSignal };
  #end = performance.now() + SLICE_MS;

  constructor(request: { readonly signal: AbortSignal }) {
    this.#request = request;
  }

  get isOver(): boolean {
    return performance.now() >= this.#end;
  }

  /** Rejects with an AbortError when the client has left: nobody waits for the rest any more. */
  async next(): Promise<void> {
    await nextTurn(undefined, { signal: this.#request.signal });
    this.#end = performance.now() + SLICE_MS;
  }
}

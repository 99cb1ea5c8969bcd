import { setImmediate as nextTick } from 'node:timers/promises';

/** How long one request computes before it yields to the event loop. */
const SLICE_MS = 0.5;

/**
 * Bounds how long a loop over many objects holds the event loop: the loop checks `isUsedUp` now and then and awaits
 * `next()` before it goes on.
 */
export class TimeSlice {
  /** The request and not its signal: reading the signal creates it. */
  readonly #request: { readonly signal: AbortSignal } | undefined;
  #end = performance.now() + SLICE_MS;
  #next: Promise<void> | undefined;

  /** Without a request, nothing ends the loop early. */
  constructor(request?: { readonly signal: AbortSignal }) {
    // Not a function that returns its signal: with one, V8 kept every request until the next full collection.
    this.#request = request;
  }

  get isUsedUp(): boolean {
    return performance.now() >= this.#end;
  }

  /**
   * Rejects with an AbortError when the client has closed the connection. Loops that run side by side share the wait:
   * 32 loops that issue passes would otherwise have 32 timers and listeners for each slice.
   */
  next(): Promise<void> {
    this.#next ??= this.#wait();
    return this.#next;
  }

  async #wait(): Promise<void> {
    const signal = this.#request?.signal;
    await (signal === undefined ? nextTick() : nextTick(undefined, { signal }));
    this.#next = undefined;
    this.#end = performance.now() + SLICE_MS;
  }
}

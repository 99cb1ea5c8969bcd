import type { ServerResponse } from 'node:http';
import type { WatchSink } from '../api/exchange.ts';

/**
 * The connection of one watch. Frames go out chunked and never compressed; nothing here waits for a slow
 * client: `pending` and `write` tell the sender how far behind it is, and the sender decides.
 */
export class WatchStream implements WatchSink {
  readonly #res: ServerResponse;
  readonly #closeListeners: (() => void)[] = [];
  readonly #onFailure: (error: unknown) => void;
  #closed = false;

  /**
   * The header block must have been written to `res` already. Listeners run inside events of the socket,
   * where a throw would end the process: `onFailure` gets it instead.
   */
  constructor(res: ServerResponse, onFailure: (error: unknown) => void) {
    this.#res = res;
    this.#onFailure = onFailure;
    // A client waits for the headers to know that the watch stands, even when nothing happens (V-01).
    res.flushHeaders();
    // It may be silent for as long as nothing happens; the next request on this connection sets it again.
    res.setTimeout(0);
    res.once('close', () => this.#close());
  }

  get pending(): number {
    return this.#res.writableLength;
  }

  write(frames: Uint8Array): boolean {
    return this.#ended ? false : this.#res.write(frames);
  }

  onDrain(listener: () => void): void {
    this.#res.on('drain', () => this.#call(listener));
  }

  onClose(listener: () => void): void {
    if (this.#closed) this.#call(listener);
    else this.#closeListeners.push(listener);
  }

  end(): void {
    if (!this.#ended) this.#res.end();
  }

  cut(): void {
    this.#res.destroy();
  }

  /** The server is going away: the sender is told, may write last words, and the stream ends cleanly. */
  shutdown(): void {
    this.#close();
    this.end();
  }

  get #ended(): boolean {
    return this.#res.writableEnded || this.#res.destroyed;
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const listener of this.#closeListeners.splice(0)) this.#call(listener);
  }

  #call(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#onFailure(error);
      this.cut();
    }
  }
}

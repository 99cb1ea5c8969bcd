import type { IncomingMessage } from 'node:http';
import { ServerResponse } from '../../lib/node-http.ts';

/** As in Go's net/http. */
const MAX_DISCARDED_BYTES = 256 * 1024;
const LINGER_MS = 500;

type Callback = (error?: Error | null) => void;

/**
 * The response class of the server, with a lingering close for answers that are sent before the whole body has arrived:
 * a 401, a 413, any answer to a GET with a body.
 *
 * - Reading the body to its end would let a client keep the server reading.
 * - Closing at once, with unread bytes, makes the system reset the connection, and the client loses the answer.
 *
 * So the answer is sent, and a bounded part of the body is read and dropped. When the body has ended, or after half a
 * second, the response ends, which closes the connection.
 */
export class LingeringResponse extends ServerResponse {
  #body: IncomingMessage | undefined;
  #isLingering = false;
  #timer: NodeJS.Timeout | undefined;

  /** `end` was called, and the response waits for the body. */
  get isLingering(): boolean {
    return this.#isLingering;
  }

  /** To be called before the headers are sent, which must have `Connection: close`. */
  discard(body: IncomingMessage): void {
    if (this.#body !== undefined) return;
    this.#body = body;
    let left = MAX_DISCARDED_BYTES;
    body.on('data', ({ length }: Buffer) => {
      left -= length;
      if (left < 0) body.pause();
    });
    body.resume();
    this.once('close', () => clearTimeout(this.#timer));
  }

  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    const body = this.#body;
    if (body === undefined) return super.end(chunk, encoding as BufferEncoding, callback as Callback);
    if (this.#isLingering) return this;
    this.#isLingering = true;
    const endLater = (): void => {
      if (body.readableEnded) super.end();
      else if (!this.destroyed) {
        body.once('end', () => super.end());
        this.#timer = setTimeout(() => super.end(), LINGER_MS);
      }
    };
    if (chunk === undefined || typeof chunk === 'function') {
      this.flushHeaders();
      endLater();
      return this;
    }
    const [named, written] = typeof encoding === 'function' ? [undefined, encoding] : [encoding, callback];
    super.write(chunk, named as BufferEncoding, (error) => {
      (written as Callback | undefined)?.(error);
      endLater();
    });
    return this;
  }
}

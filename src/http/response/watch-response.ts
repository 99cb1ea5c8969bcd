import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { WatchSink } from '../../api/request.ts';
import { ChunkPool } from './chunk-pool.ts';

/**
 * The connection of one watch. Frames go out chunked and never compressed; nothing here waits for a slow
 * client: `pending` and `write` tell the sender how far behind it is, and the sender decides.
 */
export class WatchStream implements WatchSink {
  readonly #res: ServerResponse;
  readonly #closeListeners: (() => void)[] = [];
  readonly #onFailure: (error: unknown) => void;
  /** Where chunks are written to directly; undefined when Node has to frame them, or to hold them back. */
  readonly #socket: Socket | undefined;
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
    // HTTP/1.0 has no chunks, and a pipelined answer no socket before its turn.
    this.#socket =
      res.chunkedEncoding && res.writableLength === (res.socket?.writableLength ?? -1)
        ? (res.socket ?? undefined)
        : undefined;
    // It may be silent for as long as nothing happens; the next request on this connection sets it again.
    res.setTimeout(0);
    res.once('close', () => this.#close());
  }

  get pending(): number {
    return (this.#socket ?? this.#res).writableLength;
  }

  /** Past Node's own framing, which writes each chunk in three pieces, and to each watcher anew. */
  write(frames: Uint8Array): boolean {
    if (this.#ended) return false;
    // A chunk of no length would be the last.
    if (frames.length === 0) return true;
    return this.#socket === undefined ? this.#res.write(frames) : this.#socket.write(chunkOf(frames));
  }

  writeOwn(pieces: readonly Uint8Array[]): boolean {
    if (this.#ended) return false;
    const socket = this.#socket;
    if (socket === undefined) return this.write(Buffer.concat(pieces));
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (length === 0) return true;
    const size = sizeLine(length);
    const whole = size.length + length + CRLF.length;
    const chunk = whole <= OWN.size ? OWN.take() : Buffer.allocUnsafe(whole);
    let at = 0;
    for (const piece of [size, ...pieces, CRLF]) {
      chunk.set(piece, at);
      at += piece.length;
    }
    // After a failure somebody may still hold the bytes: only what was sent is used again.
    return socket.write(chunk.subarray(0, whole), (error) => {
      if (!error) OWN.giveBack(chunk);
    });
  }

  onDrain(listener: () => void): void {
    const socket = this.#socket ?? this.#res;
    const drained = (): void => this.#call(listener);
    socket.on('drain', drained);
    // The socket may serve other requests after this one.
    this.#res.once('close', () => socket.off('drain', drained));
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

const chunked = new WeakMap<Uint8Array, Buffer>();

/** RFC 9112 section 7.1. The same frames go to many watchers, not all of them in one round: they are framed once. */
function chunkOf(frames: Uint8Array): Buffer {
  let chunk = chunked.get(frames);
  if (chunk === undefined) {
    chunk = Buffer.concat([sizeLine(frames.length), frames, CRLF]);
    chunked.set(frames, chunk);
  }
  return chunk;
}

const sizeLine = (length: number): Buffer => Buffer.from(`${length.toString(16)}\r\n`, 'latin1');
const CRLF = Buffer.from('\r\n');

/** For what a watcher is told while it catches up: with fresh memory for each, V8 would go through its whole heap to free it. */
const OWN = new ChunkPool({ size: 160 * 1024, kept: 32 });

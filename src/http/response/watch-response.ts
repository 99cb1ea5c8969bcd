import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { WatchSink } from '../../api/request.ts';
import type { SharedFrames } from '../../api/shared-frames.ts';
import type { ChunkPool } from './body-writer.ts';

/**
 * The response of one watch. Frames are sent chunked and never compressed. It does not wait for a slow client:
 * `pending` and `write` say how far behind it is, and the sender decides.
 */
export class WatchStream implements WatchSink {
  readonly #res: ServerResponse;
  readonly #closeListeners: (() => void)[] = [];
  readonly #onFailure: (error: unknown) => void;
  readonly #buffers: ChunkPool;
  /** Chunks are written to it directly; undefined when Node has to encode them, or to hold them back. */
  readonly #socket: Socket | undefined;
  #closed = false;

  /**
   * The headers must have been written to `res`. Listeners run inside events of the socket, where an exception would
   * end the process: `onFailure` gets it instead.
   */
  constructor(res: ServerResponse, onFailure: (error: unknown) => void, buffers: ChunkPool) {
    this.#res = res;
    this.#onFailure = onFailure;
    this.#buffers = buffers;
    // V-01: a client waits for the headers to know that the watch has started, also when there is no event.
    res.flushHeaders();
    // HTTP/1.0 has no chunks, and a pipelined answer no socket before the answers ahead of it are sent.
    this.#socket =
      res.chunkedEncoding && res.writableLength === (res.socket?.writableLength ?? -1)
        ? (res.socket ?? undefined)
        : undefined;
    // A watch may be silent for long. The next request on this connection sets the timeout again.
    res.setTimeout(0);
    res.once('close', () => this.#close());
  }

  get pending(): number {
    return (this.#socket ?? this.#res).writableLength;
  }

  write(frames: Uint8Array): boolean {
    return this.writeOwn([frames]);
  }

  /** Past Node's own encoding, which writes each chunk in four pieces, and encodes it for each watcher. */
  writeShared(frames: SharedFrames): boolean {
    if (this.#ended) return false;
    // A chunk without bytes would be the last.
    if (frames.bytes.length === 0) return true;
    return this.#socket === undefined
      ? this.#res.write(frames.bytes)
      : this.#socket.write(frames.encodedBy(toHttpChunk));
  }

  writeOwn(pieces: readonly Uint8Array[]): boolean {
    if (this.#ended) return false;
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (length === 0) return true;
    const socket = this.#socket;
    if (socket === undefined) return this.#res.write(Buffer.concat(pieces));
    const size = sizeLine(length);
    const whole = size.length + length + CRLF.length;
    // A client that does not read would keep a buffer of the pool for a few bytes.
    const fits = whole <= this.#buffers.size && whole > this.#buffers.size / 2;
    if (!fits) return socket.write(Buffer.concat([size, ...pieces, CRLF]));
    const chunk = this.#buffers.take();
    let at = 0;
    for (const piece of [size, ...pieces, CRLF]) {
      chunk.buffer.set(piece, at);
      at += piece.length;
    }
    return socket.write(chunk.buffer.subarray(0, whole), (error) => {
      if (!error) chunk.release();
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

  destroy(): void {
    this.#res.destroy();
  }

  fail(error: unknown): void {
    this.#onFailure(error);
    this.destroy();
  }

  /** The server stops: the sender may write last frames, and the stream ends cleanly. */
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
      this.fail(error);
    }
  }
}

/** RFC 9112 section 7.1. */
const toHttpChunk = (bytes: Uint8Array): Buffer => Buffer.concat([sizeLine(bytes.length), bytes, CRLF]);

const sizeLine = (length: number): Buffer => Buffer.from(`${length.toString(16)}\r\n`, 'latin1');
const CRLF = Buffer.from('\r\n');

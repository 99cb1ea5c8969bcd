import type { ServerResponse } from 'node:http';
import { setImmediate as nextTick } from 'node:timers/promises';
import { constants, createGzip, type Gzip } from 'node:zlib';
import type { Chunk, ChunkPool } from './chunk-pool.ts';

/**
 * Writes bodies after `res.writeHead`. A large one never has more than a few chunks in memory, and never blocks the
 * loop.
 */

/** The connection of a client that takes nothing for this long is closed. */
const STALL_MS = 30_000;

/**
 * A body up to this length gets a buffer of exactly its size, so that many small answers do not hold many large
 * buffers.
 */
const SMALL_BYTES = 65_536;

/** A body up to this length is sent together with the headers: one write costs less than two. */
const ONE_WRITE_BYTES = 4_096;

/** A longer body than this makes a socket wait for `drain`: Node's limit is 64 KB. */
const LONG_BYTES = 32_768;
const HELD_BACK_BYTES = 1_024;

/**
 * Ends a response with these bytes. The last bytes of a long body are held back until the others have left.
 *
 * Node pauses a connection if a request arrives on it while the socket waits for `drain`, and over TLS its parser then
 * fails at the second record of the request (HPE_PAUSED), which closes the connection. A client that has received a
 * long response could send its next request, e.g. a list of 500 tokens, before Node noticed that the response had left.
 */
function endLong(res: ServerResponse, bytes: Buffer): void {
  const at = bytes.length - HELD_BACK_BYTES;
  if (at < LONG_BYTES) res.end(bytes);
  else {
    res.write(bytes.subarray(0, at), (error) => {
      if (!error && !res.destroyed) res.end(bytes.subarray(at));
    });
  }
}

/** Bytes that exist, to be copied into the buffers that are sent. */
export interface ReadyBytes {
  readonly length: number;
  /** Continues at this offset of the buffer; returns the offset after what was written. */
  fill(into: Uint8Array, from: number): number;
}

/** One chunk after the other, each when the one before has left. */
export function writeReady(res: ServerResponse, bytes: ReadyBytes, buffers: ChunkPool): Promise<void> | undefined {
  if (bytes.length > SMALL_BYTES) return new LongBody(res, bytes, buffers).write();
  const whole = Buffer.allocUnsafe(bytes.length);
  bytes.fill(whole, 0);
  endLong(res, whole);
  return undefined;
}

/**
 * A long body while it is written. All chunks share one timer, one listener and one promise: with three for each chunk,
 * and two writes more, a page of 500 took 30 µs more in JavaScript alone.
 */
class LongBody {
  readonly #res: ServerResponse;
  readonly #bytes: ReadyBytes;
  readonly #buffers: ChunkPool;
  readonly #ended = Promise.withResolvers<void>();
  readonly #stalled: NodeJS.Timeout;
  #left: number;
  #chunk: Chunk | undefined;

  constructor(res: ServerResponse, bytes: ReadyBytes, buffers: ChunkPool) {
    this.#res = res;
    this.#bytes = bytes;
    this.#buffers = buffers;
    this.#left = bytes.length;
    this.#stalled = setTimeout(() => res.destroy(), STALL_MS);
  }

  /** Resolves when the last chunk is handed to the socket, or the client is gone. */
  write(): Promise<void> {
    this.#res.once('close', this.#end);
    // On their own: Node would copy headers and first chunk into one buffer before it encrypts them.
    this.#res.flushHeaders();
    this.#writeNext();
    return this.#ended.promise;
  }

  readonly #end = (): void => {
    clearTimeout(this.#stalled);
    this.#ended.resolve();
  };

  /** The last chunk is short, or its last bytes are held back for one: see `endLong`. */
  #writeNext(): void {
    const chunk = this.#buffers.take();
    const short = this.#left - HELD_BACK_BYTES;
    const isLast = short < LONG_BYTES;
    const part = chunk.buffer.subarray(0, isLast ? this.#left : Math.min(short, chunk.buffer.length));
    this.#bytes.fill(part, 0);
    this.#left -= part.length;
    this.#chunk = chunk;
    if (!isLast) this.#res.write(part, this.#onWritten);
    else {
      this.#res.end(part, () => chunk.release());
      this.#end();
    }
  }

  readonly #onWritten = (error?: Error | null): void => {
    if (error || this.#res.destroyed) {
      // The chunk is not released: a failed write may still hold it.
      this.#end();
      return;
    }
    this.#chunk?.release();
    this.#stalled.refresh();
    try {
      this.#writeNext();
    } catch (thrown) {
      clearTimeout(this.#stalled);
      this.#ended.reject(thrown);
    }
  };
}

/**
 * A whole body. Node sends headers and body in one write only when both are text of one encoding, and headers are
 * Latin-1. So a short body is given as Latin-1 text, in which each byte is one character.
 */
export function endWith(res: ServerResponse, body: Uint8Array | string, ending = ''): void {
  // ASCII is the same text in both encodings.
  if (typeof body === 'string' && body.length <= ONE_WRITE_BYTES && Buffer.byteLength(body) === body.length) {
    res.end(body + ending, 'latin1');
    return;
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.length);
  if (bytes.length <= ONE_WRITE_BYTES) res.end(bytes.toString('latin1') + ending, 'latin1');
  else endLong(res, ending === '' ? bytes : Buffer.concat([bytes, Buffer.from(ending)]));
}

/** Each chunk is the work of one tick. */
export async function writeChunks(res: ServerResponse, chunks: Iterable<Uint8Array>): Promise<void> {
  if (await pipeChunks(res, res, chunks)) res.end();
}

/** N-09: level 1. The compression itself runs on Node's thread pool. */
export async function writeGzipped(res: ServerResponse, chunks: Iterable<Uint8Array>): Promise<void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 65_536 });
  gzip.on('error', () => res.destroy());
  res.once('close', () => gzip.destroy());
  gzip.pipe(res);
  if (await pipeChunks(gzip, res, chunks)) gzip.end();
}

/** Returns false when the client went away first. */
async function pipeChunks(
  sink: ServerResponse | Gzip,
  res: ServerResponse,
  chunks: Iterable<Uint8Array>,
): Promise<boolean> {
  for (const chunk of chunks) {
    if (res.destroyed) return false;
    if (!sink.write(chunk)) await drained(sink, res);
    // A drained socket can resume us within the same tick. Only this lets other connections in.
    await nextTick();
  }
  return !res.destroyed;
}

function drained(sink: ServerResponse | Gzip, res: ServerResponse): Promise<void> {
  if (res.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(stalled);
      sink.off('drain', done);
      res.off('close', done);
      resolve();
    };
    const stalled = setTimeout(() => res.destroy(), STALL_MS);
    sink.once('drain', done);
    res.once('close', done);
  });
}

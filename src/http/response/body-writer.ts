import type { ServerResponse } from 'node:http';
import { constants, createGzip, type Gzip } from 'node:zlib';
import type { Work } from '../../lib/work-queue.ts';

/**
 * Writes bodies after `res.writeHead`. A large one never has more than a few chunks in memory, and never blocks the
 * loop.
 */

/** The connection of a client that takes nothing for this long is closed. */
const STALL_MS = 30_000;
/** A client that takes nothing for this long is what its answer waits for. */
const SLOW_MS = 1_000;

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

/** How a body is made while it is written. */
export interface Making {
  readonly work: Work;
  /** Called when all is made, or the client is so slow that making it is not what the answer waits for. */
  readonly onMade: () => void;
}

/** Chunks that are made on demand; where one is undefined, a part of the next one was made. */
type Chunks = Iterable<Uint8Array | undefined>;

/** Makes as much in one turn as it has time for, and nothing while the client is behind. */
export async function writeChunks(res: ServerResponse, chunks: Chunks, making: Making): Promise<void> {
  if (await pipeChunks(res, res, chunks, making)) res.end();
}

/** N-09: level 1. The compression itself runs on Node's thread pool. */
export async function writeGzipped(res: ServerResponse, chunks: Chunks, making: Making): Promise<void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 65_536 });
  gzip.on('error', () => res.destroy());
  res.once('close', () => gzip.destroy());
  gzip.pipe(res);
  if (await pipeChunks(gzip, res, chunks, making)) gzip.end();
}

/** Returns false when the client went away first. */
async function pipeChunks(
  sink: ServerResponse | Gzip,
  res: ServerResponse,
  chunks: Chunks,
  { work, onMade }: Making,
): Promise<boolean> {
  await work.turn();
  for (const chunk of chunks) {
    if (res.destroyed) return false;
    if (chunk !== undefined && !sink.write(chunk)) await drained(sink, res, onMade);
    if (work.isUsedUp) await work.turn();
  }
  onMade();
  return !res.destroyed;
}

function drained(sink: ServerResponse | Gzip, res: ServerResponse, onSlow: () => void): Promise<void> {
  if (res.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(slow);
      clearTimeout(stalled);
      sink.off('drain', done);
      res.off('close', done);
      resolve();
    };
    const slow = setTimeout(onSlow, SLOW_MS);
    const stalled = setTimeout(() => res.destroy(), STALL_MS);
    sink.once('drain', done);
    res.once('close', done);
  });
}

/** A buffer that is lent by a pool. */
class Chunk {
  readonly buffer: Buffer;
  #takeBack: ((buffer: Buffer) => void) | undefined;

  constructor(buffer: Buffer, takeBack: (buffer: Buffer) => void) {
    this.buffer = buffer;
    this.#takeBack = takeBack;
  }

  /** To be called when the bytes have left for certain, and not after a failed write, which may still hold them. */
  release(): void {
    this.#takeBack?.(this.buffer);
    this.#takeBack = undefined;
  }
}

/**
 * Buffers of one size, used again and again. Allocated for each list, half a megabyte at a time, they cost more than to
 * fill them (fresh pages from the system, and a collector that runs early). A chunk that is not released is collected.
 */
export class ChunkPool {
  readonly size: number;
  readonly #maxFree: number;
  readonly #free: Buffer[] = [];

  constructor({ size, maxFree }: { size: number; maxFree: number }) {
    this.size = size;
    this.#maxFree = maxFree;
  }

  take(): Chunk {
    // Slow: not cut from the block that Node shares among small buffers.
    return new Chunk(this.#free.pop() ?? Buffer.allocUnsafeSlow(this.size), this.#takeBack);
  }

  readonly #takeBack = (buffer: Buffer): void => {
    if (this.#free.length < this.#maxFree) this.#free.push(buffer);
  };
}

/**
 * How much of a long list is written at once: ten TLS records. Each client of a long list holds that much twice, plain
 * and encrypted, and the C library gives such buffers back to the system rarely. Chunks of 512 KB cost as much CPU time
 * and 35 MB more for 24 clients.
 */
export const CHUNK_BYTES = 160 * 1024;

/**
 * The buffers of a server, for each client of a long list and for each watcher that catches up. What they keep is
 * bounded for all connections together, at 11.25 MiB. A buffer beyond that stays in memory until V8 collects its whole
 * heap.
 */
export const createResponseBuffers = (): ChunkPool => new ChunkPool({ size: CHUNK_BYTES, maxFree: 72 });

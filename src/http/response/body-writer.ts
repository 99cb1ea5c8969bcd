import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, createGzip, type Gzip } from 'node:zlib';
import { CHUNK_BYTES, CHUNKS } from './chunk-pool.ts';

/** Writing large bodies: never more in memory than a few chunks, never a turn of the event loop without a break. */

/** A client that takes nothing for this long is not reading any more; its connection is closed. */
const STALL_MS = 30_000;

/** Bodies up to this length get a buffer of their own, so that many small answers do not hold many large buffers. */
const SMALL_BYTES = 65_536;

/** Bytes that are ready, to be copied into the buffers that are sent. */
export interface ReadyBytes {
  readonly length: number;
  readonly done: boolean;
  fill(into: Uint8Array, from: number): number;
}

/**
 * One buffer after the other, each written when the one before has left, and the head of the answer in the first: what
 * waits in several pieces Node copies once more, into fresh memory, before it encrypts it. The head must be written.
 */
export async function writeReady(res: ServerResponse, bytes: ReadyBytes): Promise<void> {
  const head = takeHead(res);
  let left = head.length + bytes.length;
  let chunk = left <= SMALL_BYTES ? Buffer.allocUnsafe(left) : chunkFor(left);
  let filled = bytes.fill(chunk, chunk.write(head, 'latin1'));
  while (!bytes.done) {
    await sent(res, chunk.subarray(0, filled));
    if (res.destroyed) return;
    left -= filled;
    chunk = chunkFor(left);
    filled = bytes.fill(chunk, 0);
  }
  const last = chunk;
  res.end(last.subarray(0, filled), () => CHUNKS.giveBack(last));
}

function chunkFor(left: number): Buffer {
  const chunk = CHUNKS.take();
  return left <= chunk.length ? chunk : chunk.subarray(0, CHUNK_BYTES);
}

/** The same for a body that is there: with its head and what ends it, in one buffer. The head must be written. */
export function endWith(res: ServerResponse, body: Uint8Array | string, ending = ''): void {
  const head = takeHead(res);
  const whole = Buffer.allocUnsafe(head.length + Buffer.byteLength(body) + ending.length);
  const start = whole.write(head, 'latin1');
  if (typeof body === 'string') whole.write(body, start);
  else whole.set(body, start);
  whole.write(ending, whole.length - ending.length, 'latin1');
  res.end(whole);
}

/** Resolves when these bytes have left, or will not any more. */
function sent(res: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const stalled = setTimeout(() => res.destroy(), STALL_MS);
    const done = (): void => {
      clearTimeout(stalled);
      res.off('close', done);
      resolve();
    };
    res.once('close', done);
    res.write(bytes, (error) => {
      // After a failure somebody may still hold the bytes: only what was sent is used again.
      if (!error && !res.destroyed) CHUNKS.giveBack(bytes);
      done();
    });
  });
}

/**
 * The head as Node has made it, to be sent by whoever asks for it. These two fields are not documented, though as old as
 * Node; where they are not what they were, Node sends the head itself.
 */
function takeHead(res: ServerResponse): string {
  const own = res as unknown as { _header?: unknown; _headerSent?: unknown };
  if (typeof own._header !== 'string' || own._headerSent !== false) return '';
  own._headerSent = true;
  return own._header;
}

/** Each chunk is a turn's work. */
export async function writeChunks(res: ServerResponse, chunks: Iterable<Uint8Array>): Promise<void> {
  if (await feed(res, res, chunks)) res.end();
}

/** N-09: level 1. The compression itself runs on Node's thread pool. */
export async function writeGzipped(res: ServerResponse, chunks: Iterable<Uint8Array>): Promise<void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 65_536 });
  gzip.on('error', () => res.destroy());
  res.once('close', () => gzip.destroy());
  gzip.pipe(res);
  if (await feed(gzip, res, chunks)) gzip.end();
}

/** Returns false when the client went away first. */
async function feed(sink: ServerResponse | Gzip, res: ServerResponse, chunks: Iterable<Uint8Array>): Promise<boolean> {
  for (const chunk of chunks) {
    if (res.destroyed) return false;
    if (!sink.write(chunk)) await caughtUp(sink, res);
    // A drained socket can resume us within the same turn: only this lets other connections in.
    await nextTurn();
  }
  return !res.destroyed;
}

function caughtUp(sink: ServerResponse | Gzip, res: ServerResponse): Promise<void> {
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

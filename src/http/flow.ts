import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, createGzip, type Gzip } from 'node:zlib';
import { CHUNKS } from './chunk-pool.ts';

/** Writing large bodies: never more in memory than a few chunks, never a turn of the event loop without a break. */

/** Of bytes that are ready, what goes out in one turn: about half a millisecond of encryption. */
const READY_BYTES = 524_288;

/** A client that takes nothing for this long is not reading any more; its connection is closed. */
const STALL_MS = 30_000;

/** `ready`: to make the chunks costs no more than to copy them. Otherwise each is a turn's work. */
export async function writeChunks(res: ServerResponse, chunks: Iterable<Uint8Array>, ready: boolean): Promise<void> {
  if (await feed(res, res, chunks, ready ? READY_BYTES : 0)) res.end();
}

/** N-09: level 1. The compression itself runs on Node's thread pool. */
export async function writeGzipped(res: ServerResponse, chunks: Iterable<Uint8Array>): Promise<void> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 65_536 });
  gzip.on('error', () => res.destroy());
  res.once('close', () => gzip.destroy());
  gzip.pipe(res);
  if (await feed(gzip, res, chunks, 0)) gzip.end();
}

/** Returns false when the client went away first. */
async function feed(
  sink: ServerResponse | Gzip,
  res: ServerResponse,
  chunks: Iterable<Uint8Array>,
  perTurn: number,
): Promise<boolean> {
  let inTurn = 0;
  for (const chunk of chunks) {
    if (res.destroyed) return false;
    // After a failure somebody may still hold the bytes: only what was sent is used again.
    const full = !sink.write(chunk, (error) => {
      if (!error && !res.destroyed) CHUNKS.giveBack(chunk);
    });
    inTurn += chunk.length;
    if (inTurn < perTurn && sink.writableLength < perTurn) continue;
    if (full) await caughtUp(sink, res);
    // A drained socket can resume us within the same turn: only this lets other connections in.
    await nextTurn();
    inTurn = 0;
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

import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, createGzip, type Gzip } from 'node:zlib';

/** Writing large bodies: never more in memory than one chunk, never a turn of the event loop without a break. */

/** A client that takes nothing for this long is not reading any more; its connection is closed. */
const STALL_MS = 30_000;

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

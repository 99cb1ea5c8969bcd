import type { WatchSink } from '../../api/request.ts';
import { SharedFrames } from '../../api/shared-frames.ts';
import { Cache } from '../../lib/cache.ts';

/** Whole frames. The watchers of a group have the same batches in their buffers. */
export interface Batch {
  /** A number that no other batch of the process has. */
  readonly id: number;
  readonly frames: SharedFrames;
  readonly events: number;
}

/**
 * Bytes of one write. TLS encrypts them for one connection, so they are memory of this client alone, while batches in
 * the buffer are shared. `total` bounds the memory of all clients that are behind. A TLS record holds 16 KiB.
 */
const WRITE_BYTES = { max: 128 * 1024, min: 16 * 1024, total: 64 * 1024 * 1024 };

export const writeBytesFor = (watchers: number): number =>
  Math.min(Math.max(Math.floor(WRITE_BYTES.total / watchers), WRITE_BYTES.min), WRITE_BYTES.max);

/** A client that is further behind is disconnected: the server does not wait for slow clients. */
const MAX_BEHIND = { bytes: 1024 * 1024, events: 1_000 };
/** The limit while the connection accepts writes: the server is late, not the client. Bounds the memory. */
const MAX_LATE = { bytes: 8 * 1024 * 1024, events: 8_000 };

/** Joins frames to batches of about `maxBytes`. */
export function batchesOf(frames: readonly Buffer[], maxBytes: number, nextId: () => number): Batch[] {
  const batches: Batch[] = [];
  let [from, size] = [0, 0];
  const add = (end: number): void => {
    batches.push({ id: nextId(), frames: new SharedFrames(concat(frames.slice(from, end))), events: end - from });
  };
  frames.forEach(({ length }, index) => {
    if (index > from && size + length > maxBytes) {
      add(index);
      [from, size] = [index, 0];
    }
    size += length;
  });
  if (from < frames.length) add(frames.length);
  return batches;
}

/** The frames of several batches in a row. */
type JoinBatches = (batches: readonly Batch[]) => SharedFrames;

/**
 * Batches joined for one write, by the ids of the batches. The watchers of a group that are written to between two
 * events have the same batches waiting, and share the joined bytes. Owned by the broadcaster. Batches never change and
 * ids are not used twice, so an entry dies by eviction only.
 */
export function createJoinCache(maxEntries = 8): JoinBatches {
  const joined = new Cache<string, SharedFrames>({ maxEntries });
  return (batches) => {
    const [only] = batches;
    if (batches.length === 1 && only !== undefined) return only.frames;
    const join = (): SharedFrames => new SharedFrames(concat(batches.map(({ frames }) => frames.bytes)));
    const size = batches.reduce((sum, { frames }) => sum + frames.bytes.length, 0);
    return size > WRITE_BYTES.max ? join() : joined.getOrCompute(batches.map(({ id }) => id).join(), join);
  };
}

/** The batches that one live watch has not written yet. */
export class SendBuffer {
  readonly #sink: WatchSink;
  readonly #join: JoinBatches;
  #batches: Batch[] = [];
  #bytes = 0;
  #events = 0;
  /** The share of `#bytes` and `#events` that was added since the last `checkLag`. */
  #fresh = { bytes: 0, events: 0 };
  /** The connection has not accepted the last write entirely; `drained` follows. */
  #isFull = false;
  /** Events written since the connection was last drained. */
  #writtenEvents = 0;

  constructor(sink: WatchSink, join: JoinBatches) {
    this.#sink = sink;
    this.#join = join;
  }

  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  add(batch: Batch): void {
    this.#batches.push(batch);
    this.#bytes += batch.frames.bytes.length;
    this.#events += batch.events;
    this.#fresh.bytes += batch.frames.bytes.length;
    this.#fresh.events += batch.events;
  }

  /** The connection has accepted everything. */
  drained(): void {
    this.#isFull = false;
    this.#writtenEvents = 0;
  }

  /**
   * Whether the client must be disconnected. Batches added since the last call do not count yet: a burst of events is
   * not the client's fault. Called in the watcher's write slot, by which time a connection that could accept more has
   * done so.
   */
  checkLag(): 'tolerated' | 'too-far-behind' {
    if (this.#fresh.events === 0) return 'tolerated';
    const limit = this.#isFull ? MAX_BEHIND : MAX_LATE;
    const bytes = this.#sink.pending + this.#bytes - this.#fresh.bytes;
    const events = this.#writtenEvents + this.#events - this.#fresh.events;
    this.#fresh = { bytes: 0, events: 0 };
    return bytes > limit.bytes || events > limit.events ? 'too-far-behind' : 'tolerated';
  }

  /** Writes about `maxBytes` if the connection is not full. True when it can accept more and there is more. */
  writeSome(maxBytes: number): boolean {
    if (this.#isFull || this.isEmpty) return false;
    let [count, size] = [0, 0];
    for (const { frames } of this.#batches) {
      if (count > 0 && size + frames.bytes.length > maxBytes) break;
      size += frames.bytes.length;
      count += 1;
    }
    this.#write(this.#batches.splice(0, count));
    return !this.#isFull && !this.isEmpty;
  }

  /** Writes everything, even to a full connection, because another frame has to follow it. */
  writeAll(): void {
    if (!this.isEmpty) this.#write(this.#batches.splice(0));
  }

  clear(): void {
    this.#batches = [];
    this.#bytes = 0;
    this.#events = 0;
    this.#fresh = { bytes: 0, events: 0 };
  }

  #write(batches: readonly Batch[]): void {
    for (const { frames, events } of batches) {
      this.#bytes -= frames.bytes.length;
      this.#events -= events;
      this.#writtenEvents += events;
    }
    this.#isFull = !this.#sink.writeShared(this.#join(batches));
    if (!this.#isFull) this.#writtenEvents = 0;
  }
}

const concat = (frames: readonly Uint8Array[]): Uint8Array => {
  const [only] = frames;
  return frames.length === 1 && only !== undefined ? only : Buffer.concat(frames);
};

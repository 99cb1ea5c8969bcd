import type { WatchSink } from '../../api/request.ts';
import { SharedFrames } from '../../api/shared-frames.ts';
import { Cache } from '../../lib/cache.ts';
import { type MemoryCharge, SharedBytes } from '../../lib/memory-account.ts';

/** Frames to be written together. They are shared by all watchers that show them, and joined when they are written. */
export interface Batch {
  /** A number that no other batch of the process has. */
  readonly id: number;
  readonly frames: readonly SharedFrames[];
  readonly bytes: number;
  /** How many events end in it: 0 for a part of a long frame that is not its last. */
  readonly events: number;
  readonly memory: SharedBytes;
}

/**
 * Bytes of one write. TLS encrypts them for one connection, so they are memory of this client alone, while batches in
 * the buffer are shared. `total` bounds the memory of all clients that are behind. A TLS record holds 16 KiB.
 */
const WRITE_BYTES = { max: 128 * 1024, min: 16 * 1024, total: 64 * 1024 * 1024 };

export const writeBytesFor = (watchers: number): number =>
  Math.min(Math.max(Math.floor(WRITE_BYTES.total / watchers), WRITE_BYTES.min), WRITE_BYTES.max);

/**
 * A client that is further behind is disconnected, and resumes: what it would get is too old to be of use. How much
 * memory all that wait may take is decided elsewhere (`MemoryAccount`).
 */
const MAX_BEHIND = { bytes: 1024 * 1024, events: 1_000 };
/** The limit while the connection accepts writes: the server is late, not the client. */
const MAX_LATE = { bytes: 8 * 1024 * 1024, events: 8_000 };

export const batchOf = (id: number, frames: readonly SharedFrames[]): Batch => ({
  id,
  frames,
  bytes: frames.reduce((sum, { bytes }) => sum + bytes.length, 0),
  events: frames.reduce((sum, { events }) => sum + events, 0),
  memory: new SharedBytes(
    0,
    frames.map(({ memory }) => memory),
  ),
});

/** Batches of at most `maxBytes`. A part of a long frame is alone in its batch. */
export function batchesOf(frames: readonly SharedFrames[], maxBytes: number, nextId: () => number): Batch[] {
  const batches: Batch[] = [];
  let [from, size] = [0, 0];
  const isPart = (index: number): boolean => frames[index]?.events === 0 || frames[index - 1]?.events === 0;
  frames.forEach(({ bytes }, index) => {
    if (index > from && (isPart(index) || isPart(from) || size + bytes.length > maxBytes)) {
      batches.push(batchOf(nextId(), frames.slice(from, index)));
      [from, size] = [index, 0];
    }
    size += bytes.length;
  });
  if (from < frames.length) batches.push(batchOf(nextId(), frames.slice(from)));
  return batches;
}

/** The frames of several batches in a row. */
type JoinBatches = (batches: readonly Batch[]) => SharedFrames;

/**
 * Batches joined for one write, by the ids of the batches. The watchers of a group that are written to between two
 * events have the same batches waiting, and share the joined bytes. Owned by the broadcaster. Batches never change and
 * ids are not used twice, so an entry dies by eviction only. A frame that is written alone is not copied.
 */
export function createJoinCache(nextId: () => number, maxEntries = 16): JoinBatches {
  const joined = new Cache<string, SharedFrames>({ maxEntries });
  return (batches) => {
    const [only] = batches;
    if (batches.length === 1 && only?.frames.length === 1 && only.frames[0] !== undefined) return only.frames[0];
    return joined.getOrCompute(batches.map(({ id }) => id).join(), () => {
      const frames = batches.flatMap((batch) => batch.frames);
      const bytes = Buffer.concat(frames.map((each) => each.bytes));
      return new SharedFrames(nextId(), bytes);
    });
  };
}

/** The batches that one live watch has not written yet. */
export class SendBuffer {
  readonly #sink: WatchSink;
  readonly #join: JoinBatches;
  readonly #charge: MemoryCharge;
  #batches: Batch[] = [];
  #bytes = 0;
  #events = 0;
  /** The share of `#bytes` and `#events` that was added since the last `checkLag`. */
  #fresh = { bytes: 0, events: 0 };
  /** The connection has not accepted the last write entirely; `drained` follows. */
  #isFull = false;
  /** Events written since the connection was last drained. */
  #writtenEvents = 0;
  /** What its watcher holds of a frame that was begun and is not kept here. */
  #heldBack = 0;
  /** What was written last ends within a frame. */
  #isInFrame = false;

  constructor(sink: WatchSink, join: JoinBatches, charge: MemoryCharge) {
    this.#sink = sink;
    this.#join = join;
    this.#charge = charge;
  }

  /** What waits for the client, here and in the connection. */
  get unsentBytes(): number {
    return this.#bytes + (this.#isFull ? this.#sink.pending + this.#heldBack : 0);
  }

  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  /** The connection accepts no more until `drained` is called. */
  get isFull(): boolean {
    return this.#isFull;
  }

  add(batch: Batch): void {
    this.#batches.push(batch);
    this.#charge.take(batch.memory);
    this.#bytes += batch.bytes;
    this.#events += batch.events;
    this.#fresh.bytes += batch.bytes;
    this.#fresh.events += batch.events;
  }

  /** Frames of this client only, which are not kept here. `heldBack`: bytes that follow. The buffer must be empty. */
  writeOwn(pieces: readonly Uint8Array[], heldBack: number): void {
    this.#heldBack = heldBack;
    this.#accepted(this.#sink.writeOwn(pieces));
  }

  /** The connection has accepted everything. */
  drained(): void {
    this.#accepted(true);
  }

  /** Bytes that a connection has taken and not sent are those of this client alone. */
  #accepted(isDrained: boolean): void {
    this.#isFull = !isDrained;
    if (isDrained) this.#writtenEvents = 0;
    this.#charge.set(isDrained ? 0 : this.#sink.pending + this.#heldBack);
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
    for (const { bytes } of this.#batches) {
      if (count > 0 && size + bytes > maxBytes) break;
      size += bytes;
      count += 1;
    }
    this.#write(this.#batches.splice(0, count));
    return !this.#isFull && !this.isEmpty;
  }

  /** Writes until the connection is full. What is left then is written when it has drained. */
  flush(maxBytes: number): void {
    while (this.writeSome(maxBytes));
  }

  /** Writes everything, even to a full connection: the server stops. */
  writeAll(): void {
    for (const batch of this.#batches.splice(0)) this.#write([batch]);
  }

  /** Drops what is not written, but for the rest of a frame that has been begun. What follows is not charged. */
  close(): void {
    const end = this.#isInFrame ? this.#batches.findIndex(({ events }) => events > 0) + 1 : 0;
    this.#remove(this.#batches.splice(end));
    for (const { memory } of this.#batches) this.#charge.drop(memory);
    this.#charge.close();
    this.#fresh = { bytes: 0, events: 0 };
  }

  #write(batches: readonly Batch[]): void {
    this.#remove(batches);
    for (const { events } of batches) this.#writtenEvents += events;
    this.#isInFrame = batches.at(-1)?.frames.at(-1)?.events === 0;
    this.#accepted(this.#sink.writeShared(this.#join(batches)));
  }

  #remove(batches: readonly Batch[]): void {
    for (const { bytes, events, memory } of batches) {
      this.#bytes -= bytes;
      this.#events -= events;
      this.#charge.drop(memory);
    }
  }
}

import type { WatchSink } from '../../api/request.ts';
import { SharedFrames } from '../../api/shared-frames.ts';

/** Whole frames, and how many. The same object waits for everybody who sees the same. */
export class Part extends SharedFrames {
  readonly events: number;

  constructor(bytes: Uint8Array, events: number) {
    super(bytes);
    this.events = events;
  }
}

/**
 * How much is given to a connection at once. What has been given is encrypted for this one client, and is its own; what
 * waits is shared. So however many are behind, together they hold little, and V8's collector, which is told of it, has no
 * reason to run. A record of TLS is the least that is worth it.
 */
const PIECE = { most: 128 * 1024, least: 16 * 1024, together: 64 * 1024 * 1024 };

/** For each of so many. */
export const pieceBytes = (watchers: number): number =>
  Math.min(Math.max(Math.floor(PIECE.together / watchers), PIECE.least), PIECE.most);

/** How far a client may fall behind before it is cut: it is never waited for. */
const MAX_BEHIND = { bytes: 1024 * 1024, events: 1_000 };
/** The same where it is not the client that is slow, but we have too much to tell: memory is bounded all the same. */
const MAX_LATE = { bytes: 8 * 1024 * 1024, events: 8_000 };

/** Frames joined to parts of about the size that is written at once. */
export function partsOf(frames: readonly Buffer[], most: number): Part[] {
  const parts: Part[] = [];
  let [from, size] = [0, 0];
  frames.forEach(({ length }, index) => {
    if (index > from && size + length > most) {
      parts.push(new Part(concat(frames.slice(from, index)), index - from));
      [from, size] = [index, 0];
    }
    size += length;
  });
  if (from < frames.length) parts.push(new Part(concat(frames.slice(from)), frames.length - from));
  return parts;
}

/** What one live watch has yet to be told. */
export class SendBuffer {
  readonly #sink: WatchSink;
  #parts: Part[] = [];
  #bytes = 0;
  #events = 0;
  /** Of these, what has come since the last look at how far the client is. */
  #fresh = { bytes: 0, events: 0 };
  /** The connection has not taken all it was given, and will say when it has. */
  #full = false;
  /** Events that it was given meanwhile. */
  #given = 0;

  constructor(sink: WatchSink) {
    this.#sink = sink;
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  add(part: Part): void {
    this.#parts.push(part);
    this.#bytes += part.bytes.length;
    this.#events += part.events;
    this.#fresh.bytes += part.bytes.length;
    this.#fresh.events += part.events;
  }

  /** The connection has taken everything. */
  drained(): void {
    this.#full = false;
    this.#given = 0;
  }

  /**
   * True when the client must be cut. It is judged by what it had not taken before the newest came: how much comes at
   * once is not its fault. To be called in a turn of the watcher's own, when a connection that can take more has.
   */
  isTooFarBehind(): boolean {
    if (this.#fresh.events === 0) return false;
    const limit = this.#full ? MAX_BEHIND : MAX_LATE;
    const bytes = this.#sink.pending + this.#bytes - this.#fresh.bytes;
    const events = this.#given + this.#events - this.#fresh.events;
    this.#fresh = { bytes: 0, events: 0 };
    return bytes > limit.bytes || events > limit.events;
  }

  /** Writes a piece, if the connection can take one. True when there is more that it can take. */
  writeSome(most: number): boolean {
    if (this.#full || this.isEmpty) return false;
    let [count, size] = [0, 0];
    for (const { bytes } of this.#parts) {
      if (count > 0 && size + bytes.length > most) break;
      size += bytes.length;
      count += 1;
    }
    this.#write(this.#parts.splice(0, count));
    return !this.#full && !this.isEmpty;
  }

  /** Writes all of it, whether the connection can take it or not: something else is to follow. */
  writeAll(): void {
    if (!this.isEmpty) this.#write(this.#parts.splice(0));
  }

  clear(): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#events = 0;
    this.#fresh = { bytes: 0, events: 0 };
  }

  #write(parts: readonly Part[]): void {
    for (const { bytes, events } of parts) {
      this.#bytes -= bytes.length;
      this.#events -= events;
      this.#given += events;
    }
    this.#full = !this.#sink.writeShared(joined(parts));
    if (!this.#full) this.#given = 0;
  }
}

const concat = (frames: readonly Uint8Array[]): Uint8Array => {
  const [only] = frames;
  return frames.length === 1 && only !== undefined ? only : Buffer.concat(frames);
};

let lastParts: readonly Part[] = [];
let lastJoined = new SharedFrames(Buffer.alloc(0));

/** Watchers of one group have the same waiting, and come one after the other: it is put together once. */
function joined(parts: readonly Part[]): SharedFrames {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  if (parts.length !== lastParts.length || !parts.every((part, index) => part === lastParts[index])) {
    lastJoined = new SharedFrames(concat(parts.map(({ bytes }) => bytes)));
    lastParts = parts;
  }
  return lastJoined;
}

import type { ApiObject } from '../../../src/api/kind.ts';
import type { WatchSink } from '../../../src/api/request.ts';
import type { SharedFrames } from '../../../src/api/shared-frames.ts';
import type { Status } from '../../../src/api/status.ts';

export type WatchFrame =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: ApiObject }
  | { readonly type: 'ERROR'; readonly object: Status };

/** A frame, and the revisions of the server when it was sent. */
export interface Received {
  readonly frame: WatchFrame;
  /** The revision that all watches had received. */
  readonly broadcast: number;
  /** The newest revision of the caches. */
  readonly newest: number;
}

type Revisions = Omit<Received, 'frame'>;

/** The connection of a watch: records every frame, and can stall. */
export class MemorySink implements WatchSink {
  readonly frames: WatchFrame[] = [];
  ending: 'open' | 'ended' | 'destroyed' | 'disconnected' = 'open';
  stalled = false;
  pending = 0;
  /** The part of a long frame that has arrived, and the revisions of the server when it was begun. */
  #begun: { readonly bytes: Buffer; readonly revisions: Revisions } | undefined;
  readonly #onFrame: (received: Received) => void;
  readonly #revisions: () => Revisions;
  #drained = (): void => {};
  #closed = (): void => {};

  constructor(revisions: () => Revisions, onFrame: (received: Received) => void) {
    this.#revisions = revisions;
    this.#onFrame = onFrame;
  }

  write(frames: Uint8Array): boolean {
    if (this.ending !== 'open') throw new Error('write after end');
    let bytes = Buffer.concat([this.#begun?.bytes ?? Buffer.of(), frames]);
    let revisions = this.#begun?.revisions ?? this.#revisions();
    for (let end = bytes.indexOf('\n'); end >= 0; end = bytes.indexOf('\n')) {
      const frame = JSON.parse(bytes.toString('utf8', 0, end)) as WatchFrame;
      this.frames.push(frame);
      this.#onFrame({ frame, ...revisions });
      bytes = bytes.subarray(end + 1);
      revisions = this.#revisions();
    }
    this.#begun = bytes.length === 0 ? undefined : { bytes, revisions };
    if (this.stalled) this.pending += frames.length;
    return !this.stalled;
  }

  writeShared({ bytes }: SharedFrames): boolean {
    return this.write(bytes);
  }

  writeOwn(pieces: readonly Uint8Array[]): boolean {
    return this.write(Buffer.concat(pieces));
  }

  onDrain(listener: () => void): void {
    this.#drained = listener;
  }

  onClose(listener: () => void): void {
    this.#closed = listener;
  }

  end(): void {
    if (this.#begun !== undefined) throw new Error('ended within a frame');
    this.ending = 'ended';
  }

  destroy(): void {
    this.ending = 'destroyed';
  }

  fail(error: unknown): void {
    throw error;
  }

  /** The client reads everything. */
  drain(): void {
    this.stalled = false;
    this.pending = 0;
    if (this.ending === 'open') this.#drained();
  }

  disconnect(): void {
    if (this.ending !== 'open') return;
    this.ending = 'disconnected';
    this.#closed();
  }
}

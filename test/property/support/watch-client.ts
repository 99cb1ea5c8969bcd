import type { ApiObject } from '../../../src/api/kind.ts';
import type { WatchSink } from '../../../src/api/request.ts';
import type { SharedFrames } from '../../../src/api/shared-frames.ts';
import type { Status } from '../../../src/api/status.ts';

export type WatchFrame =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: ApiObject }
  | { readonly type: 'ERROR'; readonly object: Status };

/** A frame, and between which revisions the server was when it sent it. */
export interface Received {
  readonly frame: WatchFrame;
  /** What had been handed out to everybody before. */
  readonly handedOut: number;
  /** The newest that the caches held. */
  readonly newest: number;
}

export interface Clock {
  readonly handedOut: number;
  readonly newest: number;
}

/** One connection of a client that reads as fast as it is let. Keeps every frame it got. */
export class MemorySink implements WatchSink {
  readonly frames: WatchFrame[] = [];
  ending: 'open' | 'ended' | 'cut' | 'left' = 'open';
  stalled = false;
  pending = 0;
  readonly #onFrame: (received: Received) => void;
  readonly #clock: () => Clock;
  #drained = (): void => {};
  #closed = (): void => {};

  constructor(clock: () => Clock, onFrame: (received: Received) => void) {
    this.#clock = clock;
    this.#onFrame = onFrame;
  }

  write(frames: Uint8Array): boolean {
    if (this.ending !== 'open') throw new Error('written to after the end');
    const text = Buffer.from(frames).toString();
    if (!text.endsWith('\n')) throw new Error('not whole frames');
    for (const line of text.slice(0, -1).split('\n')) {
      const frame = JSON.parse(line) as WatchFrame;
      this.frames.push(frame);
      this.#onFrame({ frame, ...this.#clock() });
    }
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
    this.ending = 'ended';
  }

  cut(): void {
    this.ending = 'cut';
  }

  /** The client takes what waits for it. */
  drain(): void {
    this.stalled = false;
    this.pending = 0;
    if (this.ending === 'open') this.#drained();
  }

  /** The client goes away. */
  leave(): void {
    if (this.ending !== 'open') return;
    this.ending = 'left';
    this.#closed();
  }
}

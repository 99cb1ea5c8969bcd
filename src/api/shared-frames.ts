import { SharedBytes } from '../lib/memory-account.ts';

/** Frames of a watch that are sent to many watchers. What a connection makes of them is computed once for all. */
export class SharedFrames {
  /** A number that no other frames of the process have. */
  readonly id: number;
  readonly bytes: Uint8Array;
  /** How many events end in these bytes: 0 for a part of a long frame that is not its last. */
  readonly events: number;
  readonly memory: SharedBytes;
  #encoded: Uint8Array | undefined;

  constructor(id: number, bytes: Uint8Array, events = 1) {
    this.id = id;
    this.bytes = bytes;
    this.events = events;
    this.memory = new SharedBytes(bytes.length);
  }

  /** The frames as they are sent. There is one encoding: every call must pass the same function. */
  encodedBy(encode: (bytes: Uint8Array) => Uint8Array): Uint8Array {
    this.#encoded ??= encode(this.bytes);
    return this.#encoded;
  }
}

/** Whole frames of a watch that are sent to many watchers. What a connection makes of them is computed once for all. */
export class SharedFrames {
  readonly bytes: Uint8Array;
  #encoded: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** The frames as they are sent. There is one encoding: every call must pass the same function. */
  encodedBy(encode: (bytes: Uint8Array) => Uint8Array): Uint8Array {
    this.#encoded ??= encode(this.bytes);
    return this.#encoded;
  }
}

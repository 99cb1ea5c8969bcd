/**
 * Buffers for the chunks of long lists, used again and again: made anew for each list, half a megabyte at a time,
 * they cost more than what is copied into them (fresh pages from the system, and a collector that runs early).
 *
 * One comes back only after its bytes have left for certain; one that does not come back is the collector's. Only
 * what was lent is taken back, and once: bytes that belong to somebody else must never be written over.
 */
export class ChunkPool {
  readonly size: number;
  readonly #kept: number;
  readonly #free: Buffer[] = [];
  readonly #lent = new WeakSet<ArrayBufferLike>();

  constructor({ size, kept }: { size: number; kept: number }) {
    this.size = size;
    this.#kept = kept;
  }

  take(): Buffer {
    // Slow means: not cut from the block that Node shares among small buffers.
    const chunk = this.#free.pop() ?? Buffer.allocUnsafeSlow(this.size);
    this.#lent.add(chunk.buffer);
    return chunk;
  }

  /** `chunk` may be a part of what was lent, or anything else, which is left alone. */
  giveBack({ buffer }: Uint8Array): void {
    if (this.#lent.delete(buffer) && this.#free.length < this.#kept) this.#free.push(Buffer.from(buffer));
  }
}

/** How much of a long list is written at once. More would push everything else out of the processor's caches. */
export const CHUNK_BYTES = 512 * 1024;
/** But what little is left after it goes along: to write it on its own would cost more than to encrypt it. */
const REST_BYTES = 64 * 1024;

/** One for the process: how much is kept is bounded for all connections together, at 9 MiB. */
export const CHUNKS = new ChunkPool({ size: CHUNK_BYTES + REST_BYTES, kept: 16 });

/** A buffer that is lent by a pool. */
export class Chunk {
  readonly buffer: Buffer;
  #takeBack: ((buffer: Buffer) => void) | undefined;

  constructor(buffer: Buffer, takeBack: (buffer: Buffer) => void) {
    this.buffer = buffer;
    this.#takeBack = takeBack;
  }

  /** To be called when the bytes have left for certain, and not after a failed write, which may still hold them. */
  release(): void {
    this.#takeBack?.(this.buffer);
    this.#takeBack = undefined;
  }
}

/**
 * Buffers of one size, used again and again. Allocated for each list, half a megabyte at a time, they cost more than to
 * fill them (fresh pages from the system, and a collector that runs early). A chunk that is not released is collected.
 */
export class ChunkPool {
  readonly size: number;
  readonly #maxFree: number;
  readonly #free: Buffer[] = [];

  constructor({ size, maxFree }: { size: number; maxFree: number }) {
    this.size = size;
    this.#maxFree = maxFree;
  }

  take(): Chunk {
    // Slow: not cut from the block that Node shares among small buffers.
    return new Chunk(this.#free.pop() ?? Buffer.allocUnsafeSlow(this.size), this.#takeBack);
  }

  readonly #takeBack = (buffer: Buffer): void => {
    if (this.#free.length < this.#maxFree) this.#free.push(buffer);
  };
}

/**
 * How much of a long list is written at once: ten TLS records. Each client of a long list holds that much twice, plain
 * and encrypted, and the C library gives such buffers back to the system rarely. Chunks of 512 KB cost as much CPU time
 * and 35 MB more for 24 clients.
 */
export const CHUNK_BYTES = 160 * 1024;

/**
 * The buffers of a server, for each client of a long list and for each watcher that catches up. What they keep is
 * bounded for all connections together, at 11.25 MiB. A buffer beyond that stays in memory until V8 collects its whole
 * heap.
 */
export const createResponseBuffers = (): ChunkPool => new ChunkPool({ size: CHUNK_BYTES, maxFree: 72 });

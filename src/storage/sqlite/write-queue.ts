import { endOfTick } from '../../lib/event-loop.ts';
import type { Rpc } from '../../lib/worker-rpc.ts';
import { type Revision, StorageError, type Write } from '../contract.ts';
import { deserializeError } from '../serialize-error.ts';
import {
  type DatabaseMethods,
  NO_VALUE,
  packValues,
  type WriteFailure,
  type WriteOutcomes,
  type WriteRequest,
} from './database-methods.ts';

const NO_VALUES = new Uint8Array(0);

interface WaitingLimits {
  readonly writes: number;
  /** Of their values. */
  readonly bytes: number;
}

/**
 * A disk that stalls takes no writes, and those of requests that have timed out or left wait here with the new ones. So
 * the queue is bounded, above what the requests in flight can write together.
 */
const MAX_WAITING: WaitingLimits = { writes: 10_000, bytes: 128 * 1024 * 1024 };

export interface QueuedWrite {
  readonly write: Write;
  /** Called with the write's revision, or with the reason why it did not happen. */
  readonly resolve: (outcome: Revision | WriteFailure) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The outcome of a transaction, before its writes are resolved. `outcomes` is undefined when the transaction failed;
 * `revision` is the store's afterwards.
 */
export type OnWritten = (
  writes: readonly QueuedWrite[],
  outcomes: WriteOutcomes | undefined,
  revision: Revision,
  error: Error | undefined,
) => void;

/**
 * Queues writes while a transaction runs, and sends all of them in the next one. This is group commit: the slower the
 * disk, the more writes share one fsync.
 */
export class WriteQueue {
  readonly #rpc: Rpc<DatabaseMethods>;
  readonly #onWritten: OnWritten;
  readonly #maxWaiting: WaitingLimits;
  #waiting: QueuedWrite[] = [];
  /** Of the values in `#waiting`. */
  #waitingBytes = 0;
  #committing: Promise<void> | undefined;

  constructor(rpc: Rpc<DatabaseMethods>, onWritten: OnWritten, maxWaiting = MAX_WAITING) {
    this.#rpc = rpc;
    this.#onWritten = onWritten;
    this.#maxWaiting = maxWaiting;
  }

  write(queued: QueuedWrite): void {
    const bytes = queued.write.value?.byteLength ?? 0;
    const { writes, bytes: most } = this.#maxWaiting;
    if (this.#waiting.length >= writes || this.#waitingBytes + bytes > most) {
      queued.reject(new StorageError('unavailable', 'the disk of the store is too slow: too many writes wait for it'));
      return;
    }
    this.#waiting.push(queued);
    this.#waitingBytes += bytes;
    this.#committing ??= this.#commitAll();
  }

  /** Resolves when no write waits. */
  async settled(): Promise<void> {
    await this.#committing;
  }

  async #commitAll(): Promise<void> {
    // So that requests that were read from sockets in one tick share a transaction.
    await handedOver();
    while (this.#waiting.length > 0) {
      const writes = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      await this.#commit(writes);
      // Two ticks after an answer: in the first the writers get their answers, and by the second most have sent their
      // next write. Otherwise the writers split in halves that wait for each other, with twice as many transactions.
      // Ticks of an idle event loop take no time.
      await handedOver();
      await handedOver();
    }
    this.#committing = undefined;
  }

  async #commit(queued: readonly QueuedWrite[]): Promise<void> {
    const writes: WriteRequest[] = [];
    const values: Uint8Array[] = [];
    for (const { write } of queued) {
      const { key, value, expect, guards } = write;
      const size = value === null ? NO_VALUE : value.byteLength;
      writes.push(guards === undefined ? { key, size, expect } : { key, size, expect, guards });
      if (value !== null) values.push(value);
    }
    const packed = values.length === 0 ? NO_VALUES : packValues(values);
    const batch = { writes: JSON.stringify(writes), values: packed };
    try {
      const answer = this.#rpc.call('write', batch, packed === NO_VALUES ? {} : { transfer: [packed.buffer] });
      this.#rpc.flush();
      const { outcomes, revision, error } = await answer;
      const failure = error && deserializeError(error);
      this.#onWritten(queued, outcomes, revision, failure);
      for (const [i, { resolve, reject }] of queued.entries()) {
        const outcome = outcomes?.failures.get(i) ?? outcomes?.revisions[i];
        if (outcome !== undefined) resolve(outcome);
        else reject(failure ?? new StorageError('unknown-outcome', 'the store gave no answer'));
      }
    } catch (error) {
      for (const { reject } of queued) reject(error as Error);
    }
  }
}

const handedOver = (): Promise<void> => new Promise((resolve) => endOfTick.handOver(resolve));

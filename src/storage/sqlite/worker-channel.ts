import { Worker } from 'node:worker_threads';
import { endOfTick } from '../../lib/event-loop.ts';
import { workerEntry } from '../../lib/program-files.ts';
import { type Revision, StorageError, type Write } from '../contract.ts';
import { deserializeError } from '../serialize-error.ts';
import {
  type Call,
  type CallResult,
  NO_VALUE,
  packValues,
  type WorkerMessage,
  type WorkerRequest,
  type WorkerSettings,
  type WriteFailure,
  type WriteOutcomes,
  type WriteRequest,
} from './worker-protocol.ts';

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

type Answer = Exclude<CallResult, { error: unknown }>;

interface QueuedCall {
  readonly call: Call;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

interface ChannelEvents {
  /**
   * The outcome of a transaction, before its writes are resolved. `outcomes` is undefined when the transaction failed;
   * `revision` is the store's afterwards.
   */
  written(
    writes: readonly QueuedWrite[],
    outcomes: WriteOutcomes | undefined,
    revision: Revision,
    error: Error | undefined,
  ): void;
  /** The socket for backups could not be opened. */
  noBackups(error: Error): void;
  /** The thread ended without `close`. Every later call fails. */
  died(error: StorageError): void;
}

interface Opened {
  readonly channel: WorkerChannel;
  readonly revision: Revision;
  readonly oldest: Revision;
}

/**
 * The main thread's side. It queues writes and calls while the thread is busy, and sends all of them in one request.
 * This is group commit: the slower the disk, the more writes share one fsync.
 */
export class WorkerChannel {
  readonly #worker: Worker;
  readonly #events: ChannelEvents;
  readonly #maxWaiting: WaitingLimits;
  #writes: QueuedWrite[] = [];
  /** Of the values in `#writes`. */
  #waitingBytes = 0;
  #calls: QueuedCall[] = [];
  #sentWrites: QueuedWrite[] = [];
  #sentCalls: QueuedCall[] = [];
  #scheduled = false;
  #closing = false;
  #dead: StorageError | undefined;

  private constructor(worker: Worker, events: ChannelEvents, maxWaiting: WaitingLimits) {
    this.#worker = worker;
    this.#events = events;
    this.#maxWaiting = maxWaiting;
    worker.on('message', (message: WorkerMessage) => this.#receive(message));
    worker.on('error', (error) => this.#die(error));
    worker.on('exit', () => this.#die(undefined));
  }

  static async open(settings: WorkerSettings, events: ChannelEvents, maxWaiting = MAX_WAITING): Promise<Opened> {
    const worker = new Worker(workerEntry('storage/sqlite/worker'), {
      name: 'sqlite',
      workerData: settings,
      // Without the flags of the process. node:sqlite prints an ExperimentalWarning.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    const first = await new Promise<WorkerMessage | undefined>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', (cause) => reject(threadEnded(cause)));
      worker.once('exit', () => resolve(undefined));
    });
    if (first?.type === 'refused') throw deserializeError(first.error);
    if (first?.type !== 'opened') throw threadEnded(undefined);
    const channel = new WorkerChannel(worker, events, maxWaiting);
    return { channel, revision: first.revision, oldest: first.oldest };
  }

  /** The error of every further call; undefined while the thread is alive. */
  get dead(): StorageError | undefined {
    return this.#dead;
  }

  write(queued: QueuedWrite): void {
    if (this.#dead !== undefined) {
      queued.reject(this.#dead);
      return;
    }
    const bytes = queued.write.value?.byteLength ?? 0;
    const { writes, bytes: most } = this.#maxWaiting;
    if (this.#writes.length >= writes || this.#waitingBytes + bytes > most) {
      queued.reject(new StorageError('unavailable', 'the disk of the store is too slow: too many writes wait for it'));
      return;
    }
    this.#writes.push(queued);
    this.#waitingBytes += bytes;
    this.#schedule();
  }

  call(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined) return reject(this.#dead);
      this.#calls.push({ call, resolve, reject });
      this.#schedule();
    });
  }

  /** The last call. Earlier writes and calls are done first, because requests keep their order. */
  async close(): Promise<void> {
    if (this.#dead !== undefined) return;
    this.#closing = true;
    const exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    await this.call({ op: 'close' });
    await exited;
  }

  /** At the end of this tick, so that requests that were read from sockets in one tick share a transaction. */
  #schedule(): void {
    if (this.#scheduled || this.#sentWrites.length > 0 || this.#sentCalls.length > 0) return;
    this.#scheduled = true;
    endOfTick.handOver(() => this.#send());
  }

  /**
   * Two ticks after an answer: in the first the writers get their answers, and by the second most have sent their next
   * write. Otherwise the writers split in halves that wait for each other, with twice as many transactions. Ticks of an
   * idle event loop take no time.
   */
  #sendNext(): void {
    if (this.#scheduled || this.#sentWrites.length > 0 || this.#sentCalls.length > 0) return;
    this.#scheduled = true;
    endOfTick.handOver(() => endOfTick.handOver(() => this.#send()));
  }

  #send(): void {
    this.#scheduled = false;
    if (this.#dead !== undefined || (this.#writes.length === 0 && this.#calls.length === 0)) return;
    this.#sentWrites = this.#writes;
    this.#writes = [];
    this.#waitingBytes = 0;
    this.#sentCalls = this.#calls;
    this.#calls = [];
    const writes: WriteRequest[] = [];
    const values: Uint8Array[] = [];
    for (const { write } of this.#sentWrites) {
      const { key, value, expect, guards } = write;
      const size = value === null ? NO_VALUE : value.byteLength;
      writes.push(guards === undefined ? { key, size, expect } : { key, size, expect, guards });
      if (value !== null) values.push(value);
    }
    const packed = values.length === 0 ? NO_VALUES : packValues(values);
    const request: WorkerRequest = {
      writes: writes.length === 0 ? '' : JSON.stringify(writes),
      values: packed,
      calls: this.#sentCalls.map(({ call }) => call),
    };
    this.#worker.postMessage(request, packed === NO_VALUES ? [] : [packed.buffer]);
  }

  #receive(message: WorkerMessage): void {
    if (message.type === 'written') {
      const writes = this.#sentWrites;
      this.#sentWrites = [];
      const error = message.error === undefined ? undefined : deserializeError(message.error);
      this.#events.written(writes, message.outcomes, message.revision, error);
      for (const [i, queued] of writes.entries()) {
        const outcome = message.outcomes?.failures.get(i) ?? message.outcomes?.revisions[i];
        if (outcome !== undefined) queued.resolve(outcome);
        else queued.reject(error ?? new StorageError('unknown-outcome', 'the store gave no answer'));
      }
    } else if (message.type === 'answered') {
      const calls = this.#sentCalls;
      this.#sentCalls = [];
      for (const [i, queued] of calls.entries()) {
        const result = message.results[i];
        if (result === undefined) queued.reject(new StorageError('unavailable', 'the store gave no answer'));
        else if ('error' in result) queued.reject(deserializeError(result.error));
        else queued.resolve(result);
      }
    } else if (message.type === 'no-backups') {
      this.#events.noBackups(deserializeError(message.error));
    }
    this.#sendNext();
  }

  #die(cause: unknown): void {
    if (this.#dead !== undefined) return;
    this.#dead = threadEnded(cause);
    if (!this.#closing) this.#events.died(this.#dead);
    const unknown = new StorageError('unknown-outcome', this.#dead.message, { cause });
    for (const queued of this.#sentWrites) queued.reject(unknown);
    for (const queued of [...this.#writes, ...this.#sentCalls, ...this.#calls]) queued.reject(this.#dead);
    this.#sentWrites = [];
    this.#writes = [];
    this.#sentCalls = [];
    this.#calls = [];
  }
}

function threadEnded(cause: unknown): StorageError {
  return new StorageError('unavailable', 'the thread of the store has ended: restart the process', { cause });
}

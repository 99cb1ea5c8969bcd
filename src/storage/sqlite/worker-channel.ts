import { Worker } from 'node:worker_threads';
import { atEndOfTick } from '../../lib/event-loop.ts';
import { type Revision, StorageError, type Write } from '../contract.ts';
import {
  type FromWorker,
  fromWireError,
  NO_VALUE,
  packValues,
  type WireCall,
  type WireFailure,
  type WireOutcomes,
  type WireResult,
  type WireWrite,
  type WorkerSettings,
} from './worker-protocol.ts';

const NO_VALUES = new Uint8Array(0);

export interface QueuedWrite {
  readonly write: Write;
  /** With the write's revision, or with why it did not happen. */
  readonly resolve: (outcome: Revision | WireFailure) => void;
  readonly reject: (error: StorageError) => void;
}

interface QueuedCall {
  readonly call: WireCall;
  readonly resolve: (result: Exclude<WireResult, { error: unknown }>) => void;
  readonly reject: (error: StorageError) => void;
}

export interface ChannelEvents {
  /**
   * The outcome of a batch, before any of its writers is told. `outcomes` is undefined when the batch failed;
   * `revision` is the store's afterwards.
   */
  written(
    writes: readonly QueuedWrite[],
    outcomes: WireOutcomes | undefined,
    revision: Revision,
    error: StorageError | undefined,
  ): void;
  /** The thread is gone although nobody closed it. Nothing works any more. */
  died(error: StorageError): void;
}

export interface Opened {
  readonly channel: WorkerChannel;
  readonly revision: Revision;
  readonly oldest: Revision;
}

/**
 * Collects what is asked for while the database's thread is busy and hands all of it over at once. That is
 * the whole of group commit: the slower the disk, the more writers share one fsync.
 */
export class WorkerChannel {
  readonly #worker: Worker;
  readonly #events: ChannelEvents;
  #writes: QueuedWrite[] = [];
  #calls: QueuedCall[] = [];
  #sentWrites: QueuedWrite[] = [];
  #sentCalls: QueuedCall[] = [];
  #scheduled = false;
  #closing = false;
  #dead: StorageError | undefined;

  private constructor(worker: Worker, events: ChannelEvents) {
    this.#worker = worker;
    this.#events = events;
    worker.on('message', (message: FromWorker) => this.#receive(message));
    worker.on('error', (error) => this.#die(error));
    worker.on('exit', () => this.#die(undefined));
  }

  static async open(settings: WorkerSettings, events: ChannelEvents): Promise<Opened> {
    // In a published package the files beside this one are JavaScript.
    const entry = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js';
    const worker = new Worker(new URL(entry, import.meta.url), {
      name: 'sqlite',
      workerData: settings,
      // The flags of the process are not for this thread, and node:sqlite still warns that it is young.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    const first = await new Promise<FromWorker | undefined>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', (cause) => reject(threadEnded(cause)));
      worker.once('exit', () => resolve(undefined));
    });
    if (first?.type === 'refused') throw fromWireError(first.error);
    if (first?.type !== 'opened') throw threadEnded(undefined);
    return { channel: new WorkerChannel(worker, events), revision: first.revision, oldest: first.oldest };
  }

  /** Why nothing works any more; undefined while the thread is alive. */
  get dead(): StorageError | undefined {
    return this.#dead;
  }

  write(queued: QueuedWrite): void {
    if (this.#dead !== undefined) {
      queued.reject(this.#dead);
      return;
    }
    this.#writes.push(queued);
    this.#schedule();
  }

  call(call: WireCall): Promise<Exclude<WireResult, { error: unknown }>> {
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined) return reject(this.#dead);
      this.#calls.push({ call, resolve, reject });
      this.#schedule();
    });
  }

  /** Nothing may be asked after it. What was asked before it is done first: calls follow writes, in order. */
  async close(): Promise<void> {
    if (this.#dead !== undefined) return;
    this.#closing = true;
    const exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    await this.call({ op: 'close' });
    await exited;
  }

  /**
   * At the end of this turn of the event loop, so that everybody whose request was read from a socket in the
   * same turn gets on the same batch.
   */
  #schedule(): void {
    if (this.#scheduled || this.#sentWrites.length > 0 || this.#sentCalls.length > 0) return;
    this.#scheduled = true;
    atEndOfTick(() => this.#send());
  }

  /**
   * Two turns of the event loop after an answer: in the first those who wrote are answered, and in the second most of them
   * have asked for more. Otherwise writers part in halves that wait for each other, and there are twice as many
   * transactions. A loop that has nothing else to do takes no time for its turns.
   */
  #sendNext(): void {
    if (this.#scheduled || this.#sentWrites.length > 0 || this.#sentCalls.length > 0) return;
    this.#scheduled = true;
    atEndOfTick(() => atEndOfTick(() => this.#send()));
  }

  #send(): void {
    this.#scheduled = false;
    if (this.#dead !== undefined || (this.#writes.length === 0 && this.#calls.length === 0)) return;
    this.#sentWrites = this.#writes;
    this.#writes = [];
    this.#sentCalls = this.#calls;
    this.#calls = [];
    const writes: WireWrite[] = [];
    const values: Uint8Array[] = [];
    for (const { write } of this.#sentWrites) {
      const { key, value, expect, guards } = write;
      const size = value === null ? NO_VALUE : value.byteLength;
      writes.push(guards === undefined ? { key, size, expect } : { key, size, expect, guards });
      if (value !== null) values.push(value);
    }
    const packed = values.length === 0 ? NO_VALUES : packValues(values);
    this.#worker.postMessage(
      {
        writes: writes.length === 0 ? '' : JSON.stringify(writes),
        values: packed,
        calls: this.#sentCalls.map(({ call }) => call),
      },
      packed === NO_VALUES ? [] : [packed.buffer],
    );
  }

  #receive(message: FromWorker): void {
    if (message.type === 'written') {
      const writes = this.#sentWrites;
      this.#sentWrites = [];
      const error = message.error === undefined ? undefined : fromWireError(message.error);
      this.#events.written(writes, message.outcomes, message.revision, error);
      for (const [i, queued] of writes.entries()) {
        const outcome = message.outcomes?.failures.get(i) ?? message.outcomes?.revisions[i];
        if (outcome !== undefined) queued.resolve(outcome);
        else queued.reject(error ?? new StorageError('unavailable', 'the store gave no answer'));
      }
    } else if (message.type === 'answered') {
      const calls = this.#sentCalls;
      this.#sentCalls = [];
      for (const [i, queued] of calls.entries()) {
        const result = message.results[i];
        if (result === undefined) queued.reject(new StorageError('unavailable', 'the store gave no answer'));
        else if ('error' in result) queued.reject(fromWireError(result.error));
        else queued.resolve(result);
      }
    }
    this.#sendNext();
  }

  #die(cause: unknown): void {
    if (this.#dead !== undefined) return;
    this.#dead = threadEnded(cause);
    if (!this.#closing) this.#events.died(this.#dead);
    for (const queued of [...this.#sentWrites, ...this.#writes, ...this.#sentCalls, ...this.#calls]) {
      queued.reject(this.#dead);
    }
    this.#sentWrites = [];
    this.#writes = [];
    this.#sentCalls = [];
    this.#calls = [];
  }
}

function threadEnded(cause: unknown): StorageError {
  return new StorageError('unavailable', 'the thread of the store has ended: restart the process', { cause });
}

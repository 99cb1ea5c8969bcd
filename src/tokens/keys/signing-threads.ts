import type { KeyObject } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { endOfTick } from '../../lib/event-loop.ts';
import { workerEntry } from '../../lib/program-files.ts';
import { type Algorithm, batchSize } from './algorithms.ts';
import { joinTexts, type SigningWorkerData, splitTexts } from './signing-messages.ts';

interface Waiting {
  readonly input: string;
  readonly resolve: (signature: string) => void;
  readonly reject: (error: Error) => void;
}

/** As much of a `Worker` as is used here. */
export interface Thread {
  postMessage(inputs: string): void;
  on(event: 'message', listener: (signatures: string) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: (code: number) => void): unknown;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}

interface SigningThreadsOptions {
  readonly start?: (data: SigningWorkerData) => Thread;
  readonly maxThreads?: number;
  /** Calls back at the end of this tick of the event loop. */
  readonly handOver?: (act: () => void) => void;
}

/** A thread keeps the key and the strings of one batch. */
const HEAP = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 };

const startWorker = (workerData: SigningWorkerData): Thread =>
  new Worker(workerEntry('tokens/keys/signing-worker'), { name: 'signer', workerData, resourceLimits: HEAP });

/**
 * Signs with one key, in separate threads, so that the event loop serves requests meanwhile (A23). Inputs of one tick
 * of the event loop go to a thread in one message. With a task of Node's thread pool for each input, a token request
 * took 1.14 to 1.22 times the CPU time on a loaded machine (ADR 47).
 *
 * A thread is started for the first input, and another one while each of them has a whole batch to sign. A thread that
 * fails rejects what it was given; the next input starts another.
 */
export class SigningThreads {
  readonly #data: SigningWorkerData;
  readonly #start: (data: SigningWorkerData) => Thread;
  readonly #maxThreads: number;
  readonly #handOver: (act: () => void) => void;
  readonly #threads = new Set<SigningThread>();
  #waiting: Waiting[] = [];
  #isClosed = false;

  constructor(
    algorithm: Algorithm,
    key: KeyObject,
    {
      start = startWorker,
      maxThreads = availableParallelism(),
      handOver = endOfTick.handOver,
    }: SigningThreadsOptions = {},
  ) {
    this.#data = { algorithm, key };
    this.#start = start;
    this.#maxThreads = maxThreads;
    this.#handOver = handOver;
  }

  sign(input: string): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new Error('the signing key is no longer in use'));
      if (this.#waiting.length === 0) this.#handOver(this.#distribute);
      this.#waiting.push({ input, resolve, reject });
    });
  }

  /** Ends the threads when they have signed what they were given. */
  close(): void {
    this.#isClosed = true;
    // Inputs that wait for the end of the tick are handed over first.
    if (this.#waiting.length === 0) for (const thread of this.#threads) thread.close();
  }

  readonly #distribute = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    const size = batchSize(this.#data.algorithm);
    for (let at = 0; at < waiting.length; at += size) this.#leastBusy(size).sign(waiting.slice(at, at + size));
    if (this.#isClosed) this.close();
  };

  #leastBusy(size: number): SigningThread {
    let least: SigningThread | undefined;
    for (const thread of this.#threads) if (least === undefined || thread.pending < least.pending) least = thread;
    if (least !== undefined && (least.pending < size || this.#threads.size >= this.#maxThreads)) return least;
    const started: SigningThread = new SigningThread(this.#start(this.#data), () => this.#threads.delete(started));
    this.#threads.add(started);
    return started;
  }
}

class SigningThread {
  readonly #thread: Thread;
  /** In the order in which they were sent, which is that of the replies. */
  readonly #batches: (readonly Waiting[])[] = [];
  #pending = 0;
  #isClosing = false;

  constructor(thread: Thread, onEnd: () => void) {
    this.#thread = thread;
    // Only a signature that someone waits for keeps the process alive.
    thread.unref();
    thread.on('message', (signatures) => this.#receive(splitTexts(signatures)));
    const end = (cause: unknown): void => {
      onEnd();
      for (const batch of this.#batches.splice(0)) rejectAll(batch, new Error('the signing thread ended', { cause }));
    };
    thread.on('error', end);
    thread.on('exit', end);
  }

  /** How many inputs have no signature yet. */
  get pending(): number {
    return this.#pending;
  }

  sign(batch: readonly Waiting[]): void {
    if (this.#pending === 0) this.#thread.ref();
    this.#pending += batch.length;
    this.#batches.push(batch);
    this.#thread.postMessage(joinTexts(batch.map(({ input }) => input)));
  }

  close(): void {
    this.#isClosing = true;
    if (this.#pending === 0) void this.#thread.terminate();
  }

  #receive(signatures: readonly string[]): void {
    const batch = this.#batches.shift() ?? [];
    this.#pending -= batch.length;
    if (this.#pending === 0) this.#thread.unref();
    if (this.#isClosing) this.close();
    if (signatures.length !== batch.length) {
      rejectAll(batch, new Error(`the signing thread returned ${signatures.length} signatures for ${batch.length}`));
      return;
    }
    for (const [index, { resolve }] of batch.entries()) resolve(signatures[index] as string);
  }
}

function rejectAll(batch: readonly Waiting[], error: Error): void {
  for (const { reject } of batch) reject(error);
}

import type { KeyObject } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { endOfTick } from '../../lib/event-loop.ts';
import { workerEntry } from '../../lib/program-files.ts';
import { Rpc, startThread, type Thread } from '../../lib/worker-rpc.ts';
import { type Algorithm, batchSize } from './algorithms.ts';
import { joinTexts, type SigningMethods, type SigningWorkerData, splitTexts } from './signing-messages.ts';

interface Waiting {
  readonly input: string;
  readonly resolve: (signature: string) => void;
  readonly reject: (error: Error) => void;
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
  startThread(workerEntry('tokens/keys/signing-worker'), { name: 'signer', workerData, resourceLimits: HEAP });

/**
 * Signs with one key, in separate threads, so that the event loop serves requests meanwhile (A23). Inputs of one tick
 * of the event loop go to a thread in one message. With a task of Node's thread pool for each input, a token request
 * took 1.14 to 1.22 times the CPU time on a loaded machine (ADR 5).
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
    for (let at = 0; at < waiting.length; at += size) {
      void this.#leastBusy(size).sign(waiting.slice(at, at + size));
    }
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
  readonly #rpc: Rpc<SigningMethods>;
  #pending = 0;
  #isClosing = false;

  constructor(thread: Thread, onEnd: () => void) {
    this.#thread = thread;
    // Only a signature that someone waits for keeps the process alive.
    thread.unref();
    this.#rpc = new Rpc(thread, {
      lost: (cause) => new Error('the signing thread ended', { cause }),
      schedule: (flush) => flush(),
    });
    this.#rpc.onClose(onEnd);
  }

  /** How many inputs have no signature yet. */
  get pending(): number {
    return this.#pending;
  }

  async sign(batch: readonly Waiting[]): Promise<void> {
    if (this.#pending === 0) this.#thread.ref();
    this.#pending += batch.length;
    try {
      const signatures = splitTexts(await this.#rpc.call('sign', joinTexts(batch.map(({ input }) => input))));
      if (signatures.length !== batch.length) {
        throw new Error(`the signing thread returned ${signatures.length} signatures for ${batch.length}`);
      }
      for (const [index, { resolve }] of batch.entries()) resolve(signatures[index] as string);
    } catch (error) {
      for (const { reject } of batch) reject(error as Error);
    } finally {
      this.#pending -= batch.length;
      if (this.#pending === 0) this.#thread.unref();
      if (this.#isClosing) this.close();
    }
  }

  close(): void {
    this.#isClosing = true;
    if (this.#pending === 0) void this.#thread.terminate();
  }
}

import type { KeyObject } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { atEndOfTick } from '../lib/event-loop.ts';
import type { Logger } from '../observability/logger.ts';
import { type SignJws, signJws } from './keys/algorithms.ts';

export interface SigningThread {
  readonly sign: SignJws;
  close(): Promise<void>;
}

export interface SigningThreadOptions {
  readonly now: () => number;
  readonly logger: Pick<Logger, 'warn'>;
  /** What signs when the thread does not. */
  readonly pool?: SignJws;
  readonly startWorker?: () => Worker;
}

interface Waiting {
  readonly key: KeyObject;
  readonly input: string;
  readonly resolve: (signature: string | Promise<string>) => void;
}

/** So many are handed over at once: the thread begins with them while the others of this turn still come. */
const BATCH = 4;
/** One that cannot even start is not started over and over. */
const RESTART_MS = 10_000;
/** It keeps nothing but a key. What is small stays where the processor has it at hand. */
const LIMITS = { maxYoungGenerationSizeMb: 3, maxOldGenerationSizeMb: 64 };

/**
 * Signs ES256 for many in a thread of its own, several at a time. Node's pool does the same, one by one: to hand a signature over
 * and to wake a thread for it costs a third of what the signature itself does. What the thread can not do the pool
 * does: whatever else is to be signed, everything while it is not there, and all as long as nobody comes together with somebody
 * else.
 */
export function openSigningThread(options: SigningThreadOptions): SigningThread {
  const { now, logger, pool = signJws, startWorker = startSigningWorker } = options;
  let waiting: Waiting[] = [];
  /** In the order in which they were handed over, which is that of the answers. */
  let sent: Waiting[][] = [];
  let worker: Worker | undefined;
  let isReady = false;
  let isClosed = false;
  let startedAt = Number.NEGATIVE_INFINITY;
  let itsKey: KeyObject | undefined;

  const start = (): void => {
    startedAt = now();
    const started = startWorker();
    worker = started;
    // Connections keep the process alive as long as somebody waits for a signature.
    started.unref();
    started.once('online', () => {
      isReady = worker === started;
    });
    started.on('message', (signatures: string) => {
      if (worker === started) receive(signatures.split('\n'));
    });
    const die = (cause: unknown): void => {
      if (worker !== started) return;
      if (!isClosed) logger.warn({ err: cause }, 'the signing thread has ended; the pool signs until there is another');
      worker = undefined;
      isReady = false;
      itsKey = undefined;
      const left = sent.flat();
      sent = [];
      left.forEach(byPool);
    };
    started.on('error', die);
    started.once('exit', (code) => die(new Error(`exit code ${code}`)));
  };

  const tryToStart = (): void => {
    try {
      start();
    } catch (error) {
      logger.warn({ err: error }, 'the signing thread can not be started; the pool signs');
    }
  };

  const byPool = ({ key, input, resolve }: Waiting): void => resolve(pool('ES256', key, input));

  const receive = (signatures: readonly string[]): void => {
    const batch = sent.shift() ?? [];
    for (const [at, one] of batch.entries()) {
      const signature = signatures[at] ?? '';
      // The pool says what is wrong with a key that can not sign.
      if (signature === '') byPool(one);
      else one.resolve(signature);
    }
  };

  const handOver = (): void => {
    const batch = waiting;
    if (batch.length === 0) return;
    waiting = [];
    if (worker === undefined && batch.length > 1 && !isClosed && now() - startedAt >= RESTART_MS) tryToStart();
    const key = batch[0]?.key;
    if (worker === undefined || !isReady || batch.some((one) => one.key !== key)) {
      batch.forEach(byPool);
      return;
    }
    if (itsKey !== key) worker.postMessage(key);
    itsKey = key;
    let inputs = '';
    // No input holds a line break: it is base64url.
    for (const { input } of batch) inputs += inputs === '' ? input : `\n${input}`;
    worker.postMessage(inputs);
    sent.push(batch);
  };

  return {
    sign(algorithm, key, input) {
      if (algorithm !== 'ES256') return pool(algorithm, key, input);
      return new Promise((resolve) => {
        if (waiting.length === 0) atEndOfTick(handOver);
        waiting.push({ key, input, resolve });
        if (waiting.length >= BATCH) handOver();
      });
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

export function startSigningWorker(): Worker {
  // In a published package the files beside this one are JavaScript.
  const entry = import.meta.url.endsWith('.ts') ? './signing-worker.ts' : './signing-worker.js';
  return new Worker(new URL(entry, import.meta.url), { name: 'signing', execArgv: [], resourceLimits: LIMITS });
}

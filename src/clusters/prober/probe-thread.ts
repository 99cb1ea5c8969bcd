import { Worker } from 'node:worker_threads';
import type { UpstreamCluster } from '../upstream/upstream-contract.ts';
import type { Outcome } from './outcome.ts';
import type { FromProbeThread, Look, ProbeThreadSettings, ToProbeThread } from './thread-protocol.ts';

export interface ProbeThreadOptions {
  /** The file that the thread runs. */
  readonly entry: URL;
  readonly settings: ProbeThreadSettings;
  readonly now: () => number;
}

export interface ProbeThread {
  probe(cluster: UpstreamCluster, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/** One that cannot even start is not started over and over. */
const RESTART_MS = 10_000;
/** What a look takes is given back with its connection; a thread that needs more has gone wrong. */
const MAX_HEAP_MB = 512;

/**
 * Looks at clusters in a thread of its own. A TLS handshake is some milliseconds of work in one piece; hundreds of
 * them in a second on the main thread would be in the way of every request.
 */
export function openProbeThread({ entry, settings, now }: ProbeThreadOptions): ProbeThread {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let startedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;
  let lastId = 0;

  const start = (): Worker => {
    startedAt = now();
    const started = new Worker(entry, {
      name: 'prober',
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    started.on('message', (answers: FromProbeThread) => {
      for (const { id, outcome, problem } of answers) {
        const look = waiting.get(id);
        waiting.delete(id);
        if (outcome === undefined) look?.reject(new Error(problem ?? 'the look was ended'));
        else look?.resolve(outcome);
      }
    });
    const die = (cause: unknown): void => {
      if (worker !== started) return;
      worker = undefined;
      const error = new Error('the thread of the prober has ended', { cause });
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    };
    started.on('error', die);
    started.on('exit', (code) => die(code));
    return started;
  };

  const begun = new Map<Worker, Look[]>();
  /** Those that begin in one turn go together. */
  const begin = (used: Worker, look: Look): void => {
    const others = begun.get(used);
    if (others !== undefined) {
      others.push(look);
      return;
    }
    const looks = [look];
    begun.set(used, looks);
    queueMicrotask(() => {
      begun.delete(used);
      used.postMessage({ type: 'look', looks } satisfies ToProbeThread);
    });
  };

  return {
    probe: async (cluster, signal) => {
      signal.throwIfAborted();
      if (isClosed) throw new Error('the prober is closed');
      if (worker === undefined && now() - startedAt < RESTART_MS) {
        throw new Error('the thread of the prober has ended; it is started again soon');
      }
      worker ??= start();
      const used = worker;
      const id = ++lastId;
      const post = (message: ToProbeThread): void => used.postMessage(message);
      const abort = (): void => {
        post({ type: 'abort', id });
        // Nobody has to wait until the thread has noticed.
        waiting.get(id)?.reject(signal.reason);
        waiting.delete(id);
      };
      signal.addEventListener('abort', abort);
      try {
        return await new Promise<Outcome>((resolve, reject) => {
          waiting.set(id, { resolve, reject });
          begin(used, { id, cluster });
        });
      } finally {
        signal.removeEventListener('abort', abort);
      }
    },
    close: async () => {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

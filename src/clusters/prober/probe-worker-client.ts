import { Worker } from 'node:worker_threads';
import type { UpstreamCluster } from '../upstream/upstream-contract.ts';
import type { Outcome } from './outcome.ts';
import type { FromProbeWorker, ProbeRequest, ProbeWorkerSettings, ToProbeWorker } from './probe-worker-protocol.ts';

export interface ProbeWorkerOptions {
  /** The file that the worker runs: probe-worker.ts. */
  readonly entry: URL;
  readonly settings: ProbeWorkerSettings;
  readonly now: () => number;
}

export interface ProbeWorker {
  probe(cluster: UpstreamCluster, signal: AbortSignal, refreshToken?: string): Promise<Outcome>;
  close(): Promise<void>;
}

interface Pending {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/** A worker that exits is not restarted sooner, in case it cannot start at all. */
const RESTART_MS = 10_000;
/** The memory of a probe is freed with its connection; a worker that needs more has a leak. */
const MAX_HEAP_MB = 512;

/**
 * Runs probes in a worker thread. A TLS handshake blocks a thread for some milliseconds; on the main thread hundreds of
 * them in a second would delay every request.
 */
export function openProbeWorker({ entry, settings, now }: ProbeWorkerOptions): ProbeWorker {
  const pending = new Map<number, Pending>();
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
    started.on('message', (responses: FromProbeWorker) => {
      for (const { id, outcome, problem } of responses) {
        const probe = pending.get(id);
        pending.delete(id);
        if (outcome === undefined) probe?.reject(new Error(problem ?? 'the probe was aborted'));
        else probe?.resolve(outcome);
      }
    });
    const onExit = (cause: unknown): void => {
      if (worker !== started) return;
      worker = undefined;
      const error = new Error('the probe thread exited', { cause });
      for (const { reject } of pending.values()) reject(error);
      pending.clear();
    };
    started.on('error', onExit);
    started.on('exit', (code) => onExit(code));
    return started;
  };

  const unsent = new Map<Worker, ProbeRequest[]>();
  /** Probes that start in one tick are sent in one message. */
  const send = (used: Worker, probe: ProbeRequest): void => {
    const others = unsent.get(used);
    if (others !== undefined) {
      others.push(probe);
      return;
    }
    const probes = [probe];
    unsent.set(used, probes);
    queueMicrotask(() => {
      unsent.delete(used);
      used.postMessage({ type: 'probe', probes } satisfies ToProbeWorker);
    });
  };

  return {
    probe: async (cluster, signal, refreshToken) => {
      signal.throwIfAborted();
      if (isClosed) throw new Error('the prober is closed');
      if (worker === undefined && now() - startedAt < RESTART_MS) {
        throw new Error('the probe thread exited; it is started again soon');
      }
      worker ??= start();
      const used = worker;
      const id = ++lastId;
      const abort = (): void => {
        used.postMessage({ type: 'abort', id } satisfies ToProbeWorker);
        // Rejects at once, without waiting for the worker.
        pending.get(id)?.reject(signal.reason);
        pending.delete(id);
      };
      signal.addEventListener('abort', abort);
      try {
        return await new Promise<Outcome>((resolve, reject) => {
          pending.set(id, { resolve, reject });
          send(used, { id, cluster, ...(refreshToken === undefined ? {} : { refreshToken }) });
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

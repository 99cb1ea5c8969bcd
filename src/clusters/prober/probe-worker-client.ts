import { Rpc, startThread, type Thread } from '../../lib/worker-rpc.ts';
import type { UpstreamCluster } from '../upstream/upstream-contract.ts';
import type { Outcome } from './outcome.ts';

/** What the thread starts with. Everything that crosses the threads is plain data. */
export interface ProbeWorkerSettings {
  readonly clusterNetworks: readonly string[];
  readonly credentialsDir: string | undefined;
  readonly ownPort: number;
  /** Connections that may stay open between two probes. */
  readonly keepAliveConnections: number;
}

export interface ProbeRequest {
  readonly cluster: UpstreamCluster;
  /** A token that no key verifies, to be sent after a successful probe. */
  readonly refreshToken: string | undefined;
}

export type ProbeMethods = {
  readonly probe: (request: ProbeRequest, signal?: AbortSignal) => Promise<Outcome>;
};

export interface ProbeWorkerOptions {
  /** The file that the worker runs: probe-worker.ts. */
  readonly entry: URL;
  readonly settings: ProbeWorkerSettings;
  readonly now: () => number;
}

/** A worker that exits is not restarted sooner, in case it cannot start at all. */
const RESTART_MS = 10_000;
/** The memory of a probe is freed with its connection; a worker that needs more has a leak. */
const MAX_HEAP_MB = 512;

/**
 * Runs probes in a worker thread. A TLS handshake blocks a thread for some milliseconds; on the main thread hundreds of
 * them in a second would delay every request.
 */
export function openProbeWorker({ entry, settings, now }: ProbeWorkerOptions) {
  let worker: { readonly thread: Thread; readonly rpc: Rpc<ProbeMethods> } | undefined;
  let startedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  const start = (): NonNullable<typeof worker> => {
    startedAt = now();
    const thread = startThread(entry, {
      name: 'prober',
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    return { thread, rpc: new Rpc(thread, { lost: (cause) => new Error('the probe thread exited', { cause }) }) };
  };

  return {
    probe: async (cluster: UpstreamCluster, signal: AbortSignal, refreshToken?: string): Promise<Outcome> => {
      if (isClosed) throw new Error('the prober is closed');
      if (worker === undefined || worker.rpc.lost !== undefined) {
        if (now() - startedAt < RESTART_MS) throw new Error('the probe thread exited; it is started again soon');
        worker = start();
      }
      return worker.rpc.call('probe', { cluster, refreshToken }, { signal });
    },
    close: async () => {
      isClosed = true;
      await worker?.thread.terminate();
    },
  };
}

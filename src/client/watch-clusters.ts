import type { Timing } from '../lib/backoff.ts';
import { ConnectionError, StatusError } from './errors.ts';
import { KnownClusters } from './known-clusters.ts';
import { clustersPath } from './list-clusters.ts';
import { endsInitialEvents, listWatch } from './list-watch.ts';
import type { Transport } from './transport.ts';
import type { Cluster, ClusterEvent, WatchOptions } from './types.ts';

export interface WatchParts {
  readonly transport: Transport;
  readonly timing: Timing;
  /** After this time without data, the connection is closed. The server sends a bookmark every minute. */
  readonly idleMs: number;
}

/**
 * Yields every change of the clusters that the caller may see, until the signal is aborted or the server refuses the
 * watch with an error that a retry does not fix (401, 403, a bad selector). Reconnects after every interruption. If the
 * server no longer has the last resourceVersion (410), yields the difference to its current state.
 */
export async function* watchClusters(parts: WatchParts, options: WatchOptions = {}): AsyncGenerator<ClusterEvent> {
  const { view, labelSelector, fieldSelector, from, signal, onConnected, onSynced } = options;
  const known = new KnownClusters(from);
  const events = listWatch({
    ...parts,
    path: clustersPath(view),
    selection: { labelSelector, fieldSelector },
    resourceVersion: from?.metadata.resourceVersion,
    signal,
    retries: isRetryable,
    onConnected: (isInitial) => {
      onConnected?.();
      if (isInitial) known.beginInitialEvents();
    },
    onInterruption: options.onInterruption,
  });
  for await (const event of events) {
    const cluster = event.object as Cluster;
    if (endsInitialEvents(event)) {
      yield* known.endInitialEvents();
      onSynced?.();
    } else if (event.type === 'DELETED') yield* known.delete(cluster);
    else if (event.type !== 'BOOKMARK') yield* known.put(cluster);
  }
}

function isRetryable(error: unknown): boolean {
  if (error instanceof StatusError) return error.code === 410 || error.code === 429 || error.code >= 500;
  return error instanceof ConnectionError;
}

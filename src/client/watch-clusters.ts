import { reconnectMs, type Timing } from '../lib/backoff.ts';
import { CLUSTERPASS_ANSWER } from './answer-types.ts';
import { ConnectionError, isStatus, StatusError, statusFrom } from './errors.ts';
import { isLater, KnownClusters } from './known-clusters.ts';
import { clustersPath } from './list-clusters.ts';
import type { Transport } from './transport.ts';
import type { Cluster, ClusterEvent, WatchOptions } from './types.ts';
import { readEvents, type WatchEvent } from './watch-events.ts';

export interface WatchParts {
  readonly transport: Transport;
  readonly timing: Timing;
  /** After this time without data, the connection is closed. The server sends a bookmark every minute. */
  readonly idleMs: number;
}

/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 10_000;
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/**
 * Yields every change of the clusters that the caller may see, until the signal is aborted or the server refuses the
 * watch with an error that a retry does not fix (401, 403, a bad selector). Reconnects after every interruption at the
 * last resourceVersion. If the server no longer has that version (410), yields the difference to its current state.
 */
export async function* watchClusters(parts: WatchParts, options: WatchOptions = {}): AsyncGenerator<ClusterEvent> {
  const { timing } = parts;
  const watch = new Watch(parts, options);
  let failures = 0;
  for (;;) {
    const openedAt = timing.now();
    let cause: unknown;
    try {
      yield* watch.connect();
    } catch (error) {
      if (options.signal?.aborted) return;
      if (!isRetryable(error)) throw error;
      cause = error;
    }
    if (options.signal?.aborted) return;
    failures = timing.now() - openedAt >= STABLE_MS ? 0 : failures + 1;
    const delayMs = reconnectMs(failures, timing.random);
    options.onInterruption?.(cause, delayMs);
    await timing.pause(delayMs, options.signal);
    if (options.signal?.aborted) return;
  }
}

function isRetryable(error: unknown): boolean {
  if (error instanceof StatusError) return error.code === 410 || error.code === 429 || error.code >= 500;
  return error instanceof ConnectionError;
}

/** The state of a watch across its connections. */
class Watch {
  readonly #parts: WatchParts;
  readonly #options: WatchOptions;
  readonly #known: KnownClusters;
  /** All events up to this version have been yielded; undefined: the next connection needs the initial events. */
  #resourceVersion: string | undefined;

  constructor(parts: WatchParts, options: WatchOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#known = new KnownClusters(options.from);
    this.#resourceVersion = options.from?.metadata.resourceVersion;
  }

  /** Yields the events of one connection. */
  async *connect(): AsyncGenerator<ClusterEvent> {
    const { view, labelSelector, fieldSelector, signal } = this.#options;
    const closed = new AbortController();
    const resuming = this.#resourceVersion !== undefined;
    try {
      const response = await this.#parts.transport.open('GET', clustersPath(view), {
        query: {
          labelSelector,
          fieldSelector,
          watch: true,
          allowWatchBookmarks: true,
          ...(resuming
            ? { resourceVersion: this.#resourceVersion }
            : { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }),
        },
        signal: signal === undefined ? closed.signal : AbortSignal.any([signal, closed.signal]),
      });
      if (response.body === null) throw new ConnectionError('the watch response has no body');
      this.#options.onConnected?.();
      if (!resuming) this.#known.beginInitialEvents();
      const stop = (): void => closed.abort();
      const reading = { idleMs: this.#parts.idleMs, stop, fields: CLUSTERPASS_ANSWER };
      for await (const event of readEvents(response.body, reading)) {
        yield* this.#handle(event);
      }
    } catch (error) {
      if (isStatus(error, 410)) this.#resourceVersion = undefined;
      throw error;
    } finally {
      closed.abort();
    }
  }

  *#handle({ type, object }: WatchEvent): Generator<ClusterEvent> {
    if (type === 'ERROR') {
      const error = new StatusError(statusFrom((object as { code?: number }).code ?? 500, JSON.stringify(object)));
      // The token expired during the watch. The next connection may have a new one; if not, its 401 ends the watch.
      throw error.code === 401 ? new ConnectionError('the token has expired', { cause: error }) : error;
    }
    const cluster = object as Cluster;
    if (type === 'ADDED' || type === 'MODIFIED') yield* this.#known.put(cluster);
    else if (type === 'DELETED') yield* this.#known.delete(cluster);
    else if (cluster.metadata.annotations?.[INITIAL_EVENTS_END] === 'true') {
      yield* this.#known.endInitialEvents();
      this.#resourceVersion = cluster.metadata.resourceVersion;
      this.#options.onSynced?.();
    }
    this.#advance(cluster.metadata.resourceVersion);
  }

  /** Has no effect before the end of the initial events: an interruption before it starts them again. */
  #advance(version: string | undefined): void {
    if (version === undefined || this.#resourceVersion === undefined) return;
    // A cluster that became visible by a change of permissions has an older version than the watch.
    if (isLater(version, this.#resourceVersion)) this.#resourceVersion = version;
  }
}

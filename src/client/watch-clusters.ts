import { ConnectionError, isStatus, StatusError, statusFrom } from './errors.ts';
import { isLater, KnownClusters } from './known-clusters.ts';
import { clustersPath } from './list-clusters.ts';
import { backoffMs, type Timing } from './timing.ts';
import type { Transport } from './transport.ts';
import type { Cluster, ClusterEvent, WatchOptions } from './types.ts';
import { type WireEvent, watchEvents } from './watch-events.ts';

export interface WatchParts {
  readonly transport: Transport;
  readonly timing: Timing;
  /** How long a stream may be silent before it counts as lost; the server sends a bookmark every minute. */
  readonly idleMs: number;
}

/** A stream that held this long was a good one: the next interruption is a first one. */
const GOOD_STREAM_MS = 10_000;
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/**
 * Every change of the clusters that the caller sees, until the signal is aborted or the server refuses for good
 * (401, 403, a bad selector). It comes back by itself after every interruption, from where it was; where the server
 * no longer knows that far back (410), from the present state, and the difference is told.
 */
export async function* watchClusters(parts: WatchParts, options: WatchOptions = {}): AsyncGenerator<ClusterEvent> {
  const { timing } = parts;
  const watch = new Watch(parts, options);
  let failures = 0;
  for (;;) {
    const openedAt = timing.now();
    let cause: unknown;
    try {
      yield* watch.stream();
    } catch (error) {
      if (options.signal?.aborted) return;
      if (!mayPass(error)) throw error;
      cause = error;
    }
    if (options.signal?.aborted) return;
    failures = timing.now() - openedAt >= GOOD_STREAM_MS ? 0 : failures + 1;
    const delayMs = backoffMs(failures, timing.random);
    options.onInterruption?.(cause, delayMs);
    try {
      await timing.delay(delayMs, options.signal);
    } catch {
      return;
    }
  }
}

/** Whether another attempt may go better. */
function mayPass(error: unknown): boolean {
  if (error instanceof StatusError) return error.code === 410 || error.code === 429 || error.code >= 500;
  return error instanceof ConnectionError;
}

/** One watch over all its streams. */
class Watch {
  readonly #parts: WatchParts;
  readonly #options: WatchOptions;
  readonly #known: KnownClusters;
  /** Everything up to here has been told; undefined: the whole state is needed. */
  #position: string | undefined;

  constructor(parts: WatchParts, options: WatchOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#known = new KnownClusters(options.from);
    this.#position = options.from?.metadata.resourceVersion;
  }

  async *stream(): AsyncGenerator<ClusterEvent> {
    const { view, labelSelector, fieldSelector, signal } = this.#options;
    const ended = new AbortController();
    const resuming = this.#position !== undefined;
    try {
      const response = await this.#parts.transport.open('GET', clustersPath(view), {
        query: {
          labelSelector,
          fieldSelector,
          watch: true,
          allowWatchBookmarks: true,
          ...(resuming
            ? { resourceVersion: this.#position }
            : { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }),
        },
        signal: signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]),
      });
      if (response.body === null) throw new ConnectionError('the watch has no body');
      this.#options.onConnected?.();
      if (!resuming) this.#known.beginState();
      const stop = (): void => ended.abort();
      for await (const event of watchEvents(response.body, { idleMs: this.#parts.idleMs, stop })) {
        yield* this.#take(event);
      }
    } catch (error) {
      if (isStatus(error, 410)) this.#position = undefined;
      throw error;
    } finally {
      ended.abort();
    }
  }

  *#take({ type, object }: WireEvent): Generator<ClusterEvent> {
    if (type === 'ERROR') {
      const error = new StatusError(statusFrom((object as { code?: number }).code ?? 500, JSON.stringify(object)));
      // The credential ended in mid-stream. There may be a new one by now; if not, the next attempt is refused for good.
      throw error.code === 401 ? new ConnectionError('the credential has ended', { cause: error }) : error;
    }
    const cluster = object as Cluster;
    if (type === 'ADDED' || type === 'MODIFIED') yield* this.#known.put(cluster);
    else if (type === 'DELETED') yield* this.#known.delete(cluster);
    else if (cluster.metadata.annotations?.[INITIAL_EVENTS_END] === 'true') {
      yield* this.#known.endState();
      this.#position = cluster.metadata.resourceVersion;
      this.#options.onSynced?.();
    }
    this.#advance(cluster.metadata.resourceVersion);
  }

  /** Before the end of the initial state there is no position: an interruption there starts it anew. */
  #advance(version: string | undefined): void {
    if (version === undefined || this.#position === undefined) return;
    // What became visible by permission carries its own, older version: that is no way back.
    if (isLater(version, this.#position)) this.#position = version;
  }
}

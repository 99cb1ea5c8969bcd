import type { ApiObject } from '../api/kind.ts';
import { ConnectionError, isStatus, StatusError, statusFrom } from '../client/errors.ts';
import { isLater } from '../client/known-clusters.ts';
import { readPages } from '../client/list-pages.ts';
import type { Transport } from '../client/transport.ts';
import { readEvents, type WatchEvent } from '../client/watch-events.ts';
import { reconnectMs, type Timing } from '../lib/backoff.ts';
import { keyOf } from './plan.ts';

/** The server ends a watch after this time, so that a connection that was lost unnoticed does not last. */
const WATCH_SECONDS = 300;
/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 10_000;
const IDLE_MS = (WATCH_SECONDS + 30) * 1_000;

interface InformerOptions {
  readonly transport: Transport;
  /** The path of a collection. */
  readonly path: string;
  readonly timing: Timing;
  /** What is kept of an object. Default: all of it. */
  readonly transform?: (object: ApiObject) => ApiObject;
  /** Called after every change of the objects, and when a connection is open: they are up to date again. */
  readonly onChange: () => void;
  /** Called when a connection is open (undefined) or was lost, with the reason. */
  readonly onConnection: (problem: Error | undefined) => void;
}

interface ObjectList {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly ApiObject[];
}

/** The objects of a collection, kept up to date by list and watch. */
export class Informer {
  readonly #options: InformerOptions;
  #objects = new Map<string, ApiObject>();
  #resourceVersion: string | undefined;
  #isSynced = false;

  constructor(options: InformerOptions) {
    this.#options = options;
  }

  /** By `keyOf`. As of the last list or event, also while the connection is interrupted. */
  get objects(): ReadonlyMap<string, ApiObject> {
    return this.#objects;
  }

  /** Whether the collection was read completely once. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  async list(signal?: AbortSignal): Promise<void> {
    const { transport, path, onChange } = this.#options;
    const pages = await readPages<ObjectList>(transport, path, { signal });
    const { transform = (object) => object } = this.#options;
    this.#objects = new Map(pages.flatMap(({ items }) => items).map((item) => [keyOf(item), transform(item)]));
    this.#resourceVersion = pages.at(-1)?.metadata.resourceVersion;
    this.#isSynced = true;
    onChange();
  }

  /** Lists and watches until the signal is aborted. Every error is reported and retried. */
  async run(signal: AbortSignal): Promise<void> {
    const { timing, onConnection } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const startedAt = timing.now();
      try {
        if (this.#resourceVersion === undefined) await this.list(signal);
        await this.#watch(signal);
        failures = timing.now() - startedAt < STABLE_MS ? failures + 1 : 0;
      } catch (error) {
        if (signal.aborted) return;
        if (isStatus(error, 410)) this.#resourceVersion = undefined;
        else onConnection(error as Error);
        failures = timing.now() - startedAt < STABLE_MS ? failures + 1 : 1;
      }
      // Not after a watch that lasted and ended in good order.
      if (failures > 0) await timing.pause(reconnectMs(failures, timing.random), signal);
    }
  }

  /** Takes the answer to a write, so that the next plan need not wait for its event. */
  put(object: ApiObject): void {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    const isNewer =
      before === undefined ||
      before.metadata.uid !== object.metadata.uid ||
      isLater(object.metadata.resourceVersion ?? '', before.metadata.resourceVersion ?? '');
    if (isNewer) this.#objects.set(key, this.#options.transform?.(object) ?? object);
  }

  drop(object: ApiObject): void {
    this.#objects.delete(keyOf(object));
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const closed = new AbortController();
    try {
      const response = await this.#options.transport.open('GET', this.#options.path, {
        query: {
          watch: true,
          allowWatchBookmarks: true,
          resourceVersion: this.#resourceVersion,
          timeoutSeconds: WATCH_SECONDS,
        },
        signal: AbortSignal.any([signal, closed.signal]),
      });
      if (response.body === null) throw new ConnectionError('the watch response has no body');
      this.#options.onConnection(undefined);
      this.#options.onChange();
      for await (const event of readEvents(response.body, { idleMs: IDLE_MS, stop: () => closed.abort() })) {
        this.#handle(event);
      }
    } finally {
      closed.abort();
    }
  }

  #handle({ type, object: received }: WatchEvent): void {
    if (type === 'ERROR') {
      throw new StatusError(statusFrom((received as { code?: number }).code ?? 500, JSON.stringify(received)));
    }
    const object = received as ApiObject;
    const { resourceVersion = '', uid } = object.metadata;
    // Clusterpass sends a cluster that became visible by a permission with its own version, which may be older.
    if (isLater(resourceVersion, this.#resourceVersion ?? '')) this.#resourceVersion = resourceVersion;
    if (type === 'BOOKMARK') return;
    // An object of the same name that was created since is another one. Clusterpass hides the uid with the object.
    const known = this.#objects.get(keyOf(object))?.metadata.uid;
    if (type !== 'DELETED') this.put(object);
    else if (uid === undefined || known === uid) this.drop(object);
    this.#options.onChange();
  }
}

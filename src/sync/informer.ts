import type { ApiObject } from '../api/kind.ts';
import { isStatus } from '../client/errors.ts';
import { isLater } from '../client/known-clusters.ts';
import { type Page, readPages } from '../client/list-pages.ts';
import { listWatch } from '../client/list-watch.ts';
import type { Transport } from '../client/transport.ts';
import type { WatchEvent } from '../client/watch-events.ts';
import type { Timing } from '../lib/backoff.ts';
import { keyOf } from './plan.ts';

/** The server ends a watch after this time, so that a connection that was lost unnoticed does not last. */
const WATCH_SECONDS = 300;
const IDLE_MS = (WATCH_SECONDS + 30) * 1_000;

export interface InformerOptions {
  readonly transport: Transport;
  readonly path: string;
  readonly labelSelector?: string | undefined;
  readonly timing: Timing;
  /** After this time without data, the connection is closed. Default: when the watch should have ended. */
  readonly idleMs?: number;
  /** What is kept of an object. Default: all of it. */
  readonly transform?: (object: ApiObject) => ApiObject;
  /** Called after every change of the objects, and when a connection is open: they are up to date again. */
  readonly onChange: () => void;
  /** Called when a connection is open (undefined) or was lost, with the reason. */
  readonly onConnection?: (problem: Error | undefined) => void;
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
    const { transport, path, labelSelector, transform = (object) => object, onChange } = this.#options;
    const pages = await readPages<Page<ApiObject>>(transport, path, { labelSelector, signal });
    this.#objects = new Map(pages.flatMap(({ items }) => items).map((item) => [keyOf(item), transform(item)]));
    this.#resourceVersion = pages.at(-1)?.metadata.resourceVersion;
    this.#isSynced = true;
    onChange();
  }

  /** Lists and watches until the signal is aborted. Errors are reported and retried, except a bad request. */
  async run(signal: AbortSignal): Promise<void> {
    const { transport, path, labelSelector, timing, idleMs = IDLE_MS, onConnection, onChange } = this.#options;
    const events = listWatch({
      ...{ transport, path, timing, signal, idleMs },
      selection: { labelSelector },
      timeoutSeconds: WATCH_SECONDS,
      list: async () => {
        await this.list(signal);
        return this.#resourceVersion;
      },
      resourceVersion: this.#resourceVersion,
      // E.g. a selector that cannot be read.
      retries: (error) => !isStatus(error, 400) && !isStatus(error, 422),
      onConnected: () => {
        onConnection?.(undefined);
        onChange();
      },
      onInterruption: (cause) => {
        if (cause !== undefined && !isStatus(cause, 410)) onConnection?.(cause as Error);
      },
    });
    for await (const event of events) this.#handle(event);
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

  /** Deletes the object that was observed, and no later one of its name. */
  async delete(observed: ApiObject, path: string, query: { readonly dryRun?: string } = {}): Promise<void> {
    const { uid, resourceVersion } = observed.metadata;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
    try {
      const { value } = await this.#options.transport.request<ApiObject>('DELETE', path, { body, query });
      if (query.dryRun !== undefined) return;
      // It stays until its finalizers, or the objects in it, are gone.
      if (value.kind !== 'Status' && value.metadata?.deletionTimestamp !== undefined) this.put(value);
      else this.#drop(observed);
    } catch (error) {
      if (!isStatus(error, 404)) throw error;
      this.#drop(observed);
    }
  }

  #drop(object: ApiObject): void {
    this.#objects.delete(keyOf(object));
  }

  #handle({ type, object: received }: WatchEvent): void {
    if (type === 'BOOKMARK') return;
    const object = received as ApiObject;
    const { uid } = object.metadata;
    // An object of the same name that was created since is another one. Clusterpass hides the uid with the object.
    const known = this.#objects.get(keyOf(object))?.metadata.uid;
    if (type !== 'DELETED') this.put(object);
    else if (uid === undefined || known === uid) this.#drop(object);
    this.#options.onChange();
  }
}

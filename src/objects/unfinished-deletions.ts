import type { Revision } from '../storage/contract.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import type { CacheEvent } from '../storage/watch-cache.ts';
import type { ObjectCache } from './reader.ts';
import type { StoredObject } from './stored-object.ts';
import { isParent } from './writer.ts';

/** Longer than a request takes: until then the request completes the deletion. */
const RETRY_MS = 60_000;

/**
 * Clusters and namespaces that are being deleted, and those that were deleted and may have left objects behind. It
 * listens to the reflector, so those that another replica began to delete are among them.
 */
export class UnfinishedDeletions implements ReflectorListener<StoredObject> {
  readonly #caches: readonly ObjectCache[];
  readonly #now: () => number;
  /** By key and createRevision: an object may be created again before its predecessor is finished. */
  readonly #entries = new Map<string, { readonly parent: StoredObject; dueAt: number }>();

  /** The caches of clusters and of namespaces, and milliseconds on a monotonic clock. */
  constructor(caches: readonly ObjectCache[], now: () => number) {
    this.#caches = caches;
    this.#now = now;
  }

  onEvent({ before, after }: Pick<CacheEvent<StoredObject>, 'before' | 'after'>): void {
    const parent = after ?? before;
    if (parent === undefined || !isParent(parent.kind)) return;
    if (after === undefined || after.deletionTimestamp !== undefined) this.#add(parent);
  }

  onProgress(): void {}

  onReset(_revision: Revision): void {
    for (const cache of this.#caches) {
      for (const parent of cache.current.scan(cache.prefix)) {
        if (parent.deletionTimestamp !== undefined) this.#add(parent);
      }
    }
  }

  /** Those that are due, each once in RETRY_MS. */
  takeDue(): StoredObject[] {
    const now = this.#now();
    const due = [...this.#entries.values()].filter(({ dueAt }) => dueAt <= now);
    for (const entry of due) entry.dueAt = now + RETRY_MS;
    return due.map(({ parent }) => parent);
  }

  /** The parent and everything inside it is deleted. */
  finish(parent: StoredObject): void {
    this.#entries.delete(idOf(parent));
  }

  #add(parent: StoredObject): void {
    const id = idOf(parent);
    if (!this.#entries.has(id)) this.#entries.set(id, { parent, dueAt: this.#now() + RETRY_MS });
  }
}

const idOf = ({ key, createRevision }: StoredObject): string => `${createRevision} ${key}`;

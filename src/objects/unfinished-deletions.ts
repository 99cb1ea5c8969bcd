import type { Kind, ObjectKey } from '../api/kind.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import type { CacheEvent } from '../storage/watch-cache.ts';
import { isParent } from './parents.ts';
import type { ObjectCache } from './reader.ts';
import type { StoredObject } from './stored-object.ts';

/** Longer than a request takes: until then the request completes the deletion. */
const RETRY_MS = 60_000;
/** By then the leader has swept what a deleted parent left. It retries its own entries, so they are not as old. */
const FORGET_MS = 10 * RETRY_MS;

/** A cluster or a namespace. */
export interface ParentVersion extends ObjectKey {
  readonly kind: Kind;
  readonly key: string;
  readonly createRevision: number;
}

interface Entry {
  readonly parent: ParentVersion;
  dueAt: number;
}

/**
 * Clusters and namespaces that are being deleted, and those that were deleted and may have left objects behind. It
 * listens to the reflector, so those that another replica began to delete are among them.
 */
export class UnfinishedDeletions implements ReflectorListener<StoredObject> {
  readonly #caches: readonly ObjectCache[];
  readonly #now: () => number;
  /** By key and createRevision: an object may be created again before its predecessor is finished. */
  readonly #marked = new Map<string, Entry>();
  /** The oldest first. */
  readonly #deleted = new Map<string, Entry>();

  /** The caches of clusters and of namespaces, and milliseconds on a monotonic clock. */
  constructor(caches: readonly ObjectCache[], now: () => number) {
    this.#caches = caches;
    this.#now = now;
  }

  /** How many there are. */
  get size(): number {
    return this.#marked.size + this.#deleted.size;
  }

  onEvent({ before, after }: Pick<CacheEvent<StoredObject>, 'before' | 'after'>): void {
    const parent = after ?? before;
    if (parent === undefined || !isParent(parent.kind)) return;
    if (after === undefined) this.addDeleted(parent);
    else this.#mark(after);
  }

  onReset(): void {
    for (const cache of this.#caches) {
      for (const parent of cache.current.scan(cache.prefix)) this.#mark(parent);
    }
  }

  addDeleted(parent: ParentVersion): void {
    const id = idOf(parent);
    const now = this.#now();
    this.#marked.delete(id);
    this.#deleted.set(id, { parent: withoutValue(parent), dueAt: now + RETRY_MS });
    for (const [oldest, { dueAt }] of this.#deleted) {
      if (dueAt + FORGET_MS > now) return;
      this.#deleted.delete(oldest);
    }
  }

  /** Those that are due, each once in RETRY_MS. */
  takeDue(): ParentVersion[] {
    const now = this.#now();
    const due = [...this.#marked.values(), ...this.#deleted.values()].filter(({ dueAt }) => dueAt <= now);
    for (const entry of due) entry.dueAt = now + RETRY_MS;
    return due.map(({ parent }) => parent);
  }

  /** The parent and everything inside it is deleted. */
  finish(parent: ParentVersion): void {
    this.#marked.delete(idOf(parent));
    this.#deleted.delete(idOf(parent));
  }

  #mark(parent: StoredObject): void {
    const id = idOf(parent);
    if (parent.deletionTimestamp === undefined || this.#marked.has(id)) return;
    this.#marked.set(id, { parent: withoutValue(parent), dueAt: this.#now() + RETRY_MS });
  }
}

const idOf = ({ key, createRevision }: ParentVersion): string => `${createRevision} ${key}`;

function withoutValue(parent: ParentVersion): ParentVersion {
  const { kind, key, cluster, namespace, name, createRevision } = parent;
  return { kind, key, cluster, namespace, name, createRevision };
}

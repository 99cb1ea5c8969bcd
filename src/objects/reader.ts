import type { Catalog } from '../api/catalog.ts';
import { type Kind, type ObjectKey, storageKey } from '../api/kind.ts';
import { type ApiError, notFound, unavailable } from '../api/status.ts';
import type { MaybePromise } from '../lib/promises.ts';
import type { Trace } from '../observability/protocol-trace.ts';
import type { WriteResult } from '../storage/contract.ts';
import type { Freshness } from '../storage/freshness.ts';
import type { Reflector } from '../storage/reflector.ts';
import type { Unreadable, WatchCache } from '../storage/watch-cache.ts';
import { isProjected, ProjectedCache } from './projected-cache.ts';
import type { ReadableCache } from './readable.ts';
import { asApiError, notYetInForce, resourceVersionTooLarge, unreadableObject, warmingUp } from './storage-errors.ts';
import type { StoredObject } from './stored-object.ts';

export type ObjectCache = WatchCache<StoredObject>;

/** How long a read waits for the store and the caches before it fails. */
const TIMEOUT_MS = 2_500;

/** Reads objects from the watch caches, and waits until they are fresh enough. */
export class ObjectReader {
  readonly #reflector: Reflector<StoredObject>;
  readonly #caches: ReadonlyMap<Kind, ObjectCache>;
  readonly #freshness: Pick<Freshness, 'catchUp'>;
  readonly #trace: Trace | undefined;

  constructor(
    reflector: Reflector<StoredObject>,
    caches: ReadonlyMap<Kind, ObjectCache>,
    freshness: Pick<Freshness, 'catchUp'>,
    trace?: Trace,
  ) {
    this.#reflector = reflector;
    this.#caches = caches;
    this.#freshness = freshness;
    this.#trace = trace;
  }

  /** Reads include all changes up to this revision. */
  get revision(): number {
    return this.#reflector.revision;
  }

  get ready(): boolean {
    return this.#reflector.ready;
  }

  cache(kind: Kind): ObjectCache {
    const cache = this.#caches.get(kind);
    if (cache === undefined) throw new Error(`no cache for ${kind.resource}`);
    return cache;
  }

  /** What get, list and watch of a kind read: its cache, or the projection of another one. */
  readable(kind: Kind): ReadableCache {
    return isProjected(kind) ? new ProjectedCache(kind, this.cache(kind.projection.source)) : this.cache(kind);
  }

  /** The cached state; call `catchUp` first where a stale answer would be wrong. */
  find(kind: Kind, objectKey: ObjectKey): StoredObject | undefined {
    return this.cache(kind).get(storageKey(kind, objectKey));
  }

  /** The stored object that `find` does not find, because its value cannot be decoded. */
  findUnreadable(kind: Kind, objectKey: ObjectKey): Unreadable | undefined {
    return this.#caches.get(kind)?.unreadable(storageKey(kind, objectKey));
  }

  /** The error for an object that `find` does not find. */
  absence(kind: Kind, objectKey: ObjectKey): ApiError {
    const { name } = objectKey;
    return this.findUnreadable(kind, objectKey) === undefined ? notFound(kind, name) : unreadableObject(kind, name);
  }

  /**
   * Catches up before it reports that an object does not exist (K-25). Not a promise when the object is there: that is
   * nearly every call, and a token request makes several.
   */
  findFresh(kind: Kind, objectKey: ObjectKey): MaybePromise<StoredObject | undefined> {
    return this.find(kind, objectKey) ?? this.catchUp().then(() => this.find(kind, objectKey));
  }

  /** After it, reads include every write acknowledged before the call. */
  async catchUp(): Promise<void> {
    this.assertReady();
    const asked = this.#trace && performance.now();
    let reached: boolean;
    try {
      reached = await this.#freshness.catchUp(TIMEOUT_MS);
    } catch (error) {
      throw asApiError(error);
    }
    if (!reached) throw unavailable('the cache is behind the store, please try again');
    if (asked !== undefined) this.#trace?.('read', { took: performance.now() - asked, revision: this.revision });
  }

  /** Waits for what a `resourceVersion` asks for. Without one as fresh as the store; 0: any state of the cache. */
  async reach(resourceVersion: number | undefined): Promise<void> {
    if (resourceVersion === undefined) await this.catchUp();
    else if (resourceVersion === 0) this.assertReady();
    else await this.waitFor(resourceVersion);
  }

  /** Waits for a revision that the client sent; one that has not happened is a 504 (L-37). */
  async waitFor(revision: number): Promise<void> {
    this.assertReady();
    if (!(await this.#reflector.waitFor(revision, TIMEOUT_MS))) {
      throw resourceVersionTooLarge(revision, this.#reflector.revision);
    }
  }

  /**
   * Waits until the caches of this process include a write. Throws a 504 if that takes too long: a replica must not
   * acknowledge the removal of a permission that it still grants.
   */
  async sawOwnWrite({ ok, revision }: Pick<WriteResult, 'ok' | 'revision'>): Promise<void> {
    const reached = await this.#reflector.waitFor(revision, TIMEOUT_MS);
    // A refused write has changed nothing, and the callers read again before they retry.
    if (ok && !reached) throw notYetInForce();
    if (ok) this.#trace?.('acknowledged', { revision });
  }

  assertReady(): void {
    if (!this.#reflector.ready) throw warmingUp();
  }
}

/** Finds a stored object by its resource and storage key, from memory: it is called at every use of a token. */
export function createFindLive({ storedKinds }: Catalog, reader: Pick<ObjectReader, 'cache'>) {
  const caches = new Map(storedKinds.map((kind) => [kind.resource, reader.cache(kind)]));
  return (resource: string, key: string): StoredObject | undefined => caches.get(resource)?.get(key);
}

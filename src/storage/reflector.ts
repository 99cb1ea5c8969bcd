import type { Work } from '../lib/work-queue.ts';
import { type Change, type KeyValue, type Revision, StorageError, type Store } from './contract.ts';
import { type AppliedRevision, RevisionWaiters } from './revision-waiters.ts';
import { scan } from './scan.ts';
import type { CacheEntry } from './snapshot.ts';
import type { CacheEvent, Refill, WatchCache } from './watch-cache.ts';

/**
 * Called with every event, in order, after the caches have applied it. Synchronous. A listener that throws is reset.
 */
export interface ReflectorListener<E extends CacheEntry> {
  onEvent(event: CacheEvent<E>): void;
  /** All events up to this revision have been delivered. */
  onProgress?(revision: Revision): void;
  /** Start over from the contents of the caches: events may be missing between the last one and the next one. */
  onReset(revision: Revision): void;
}

export interface ReflectorOptions<E extends CacheEntry> {
  readonly store: Store;
  /** Of the keys of all caches. */
  readonly prefix: string;
  readonly caches: readonly WatchCache<E>[];
  /** How many revisions back the caches start, so that watches can resume after a restart. */
  readonly historyRevisions: number;
  readonly delay: (ms: number) => Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly work: Work;
  /**
   * What a report may say about an error of `project`. Default: nothing, because the message of an error such as one of
   * JSON.parse may quote the value, which can hold a secret.
   */
  readonly decodeProblem?: (error: unknown) => string | undefined;
}

const RETRY_MS = 500;

/**
 * Fills the watch caches and keeps them up to date. One watch of the store feeds all of them in the order of revisions,
 * so the caches of all kinds are at one revision.
 */
export class Reflector<E extends CacheEntry> implements AppliedRevision {
  readonly #options: ReflectorOptions<E>;
  readonly #listeners: ReflectorListener<E>[] = [];
  readonly #stop = new AbortController();
  /** Ends the current watch so that the caches are refilled. */
  #restart = new AbortController();
  readonly #position = new RevisionWaiters();
  /** The store's revision when the caches were last filled. They are not ready until they reach it. */
  #goal: Revision = Number.POSITIVE_INFINITY;
  #done: Promise<void> = Promise.resolve();

  constructor(options: ReflectorOptions<E>) {
    this.#options = options;
  }

  /** The caches include all changes up to this revision. */
  get revision(): Revision {
    return this.#position.revision;
  }

  /** True once the caches have caught up with the store, until they are refilled. */
  get ready(): boolean {
    return this.#position.revision >= this.#goal;
  }

  /** Listeners are called in the order in which they were added. */
  listen(listener: ReflectorListener<E>): void {
    this.#listeners.push(listener);
  }

  /** Resolves when the caches have caught up. */
  async start(): Promise<void> {
    await this.#load();
    this.#done = this.#follow().finally(() => this.#position.end());
    if (!(await this.waitFor(this.#goal))) throw new StorageError('closed', 'closed before the caches were filled');
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
    this.#position.end();
  }

  /** Refills the caches. Called when they differ from the store. */
  startOver(): void {
    this.#restart.abort();
  }

  /** Resolves true when the caches include this revision, false after the timeout or when the reflector has stopped. */
  waitFor(revision: Revision, timeoutMs?: number): Promise<boolean> {
    return this.#position.waitFor(revision, timeoutMs);
  }

  /** Fills the caches with a past state; the watch delivers the changes since. */
  async #load(): Promise<void> {
    try {
      await this.#loadFrom(this.#options.historyRevisions);
    } catch (error) {
      // By an operator, or at an import.
      if (!isCompacted(error)) throw error;
      await this.#loadFrom(0);
    }
  }

  async #loadFrom(history: number): Promise<void> {
    const { store, caches } = this.#options;
    const now = await store.revision();
    const base = Math.max(1, now - history);
    const refills: Refill[] = [];
    for (const cache of caches) refills.push(await this.#refill(cache, base));
    // All in one tick: no reader sees one kind before and another after the refill.
    for (const refill of refills) refill.finish(base);
    this.#goal = now;
    // Waiters continue after this tick, when the listeners have the same state.
    this.#position.moveTo(base);
    for (const listener of this.#listeners) this.#reset(listener);
  }

  /** Batch by batch, so that other work goes on in between and the bytes are not held twice. */
  async #refill(cache: WatchCache<E>, revision: Revision): Promise<Refill> {
    const refill = cache.refill();
    const { store, work } = this.#options;
    for await (const items of scan(store, { prefix: cache.prefix, revision })) {
      for (const item of items) {
        if (work.isUsedUp) await work.turn();
        try {
          refill.add(item);
        } catch (error) {
          this.#reportUnreadable(item, error);
          refill.addUnreadable(item);
        }
      }
    }
    return refill;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const restart = new AbortController();
      this.#restart = restart;
      try {
        const ended = AbortSignal.any([signal, restart.signal]);
        for await (const batch of this.#options.store.watch(this.#options.prefix, this.revision, ended)) {
          this.#apply(batch.changes, batch.revision);
        }
      } catch (error) {
        if (signal.aborted || isClosed(error)) return;
        this.#options.onError(error);
        if (isCompacted(error)) await this.#reload();
        else await this.#options.delay(RETRY_MS);
      }
      if (restart.signal.aborted && !signal.aborted) await this.#reload();
    }
  }

  /** Until it succeeds: the caches are not ready meanwhile, and no watch would make them so. */
  async #reload(): Promise<void> {
    this.#goal = Number.POSITIVE_INFINITY;
    while (!this.#stop.signal.aborted) {
      try {
        return await this.#load();
      } catch (error) {
        if (isClosed(error)) return;
        this.#options.onError(error);
        await this.#options.delay(RETRY_MS);
      }
    }
  }

  #apply(changes: readonly Change[], revision: Revision): void {
    const failed = new Set<ReflectorListener<E>>();
    const notify = (action: (listener: ReflectorListener<E>) => void): void => {
      for (const listener of this.#listeners) {
        if (failed.has(listener)) continue;
        try {
          action(listener);
        } catch (error) {
          this.#options.onError(error);
          failed.add(listener);
        }
      }
    };
    for (const change of changes) {
      const event = this.#applyOne(change);
      if (event !== undefined) notify((listener) => listener.onEvent(event));
    }
    this.#position.moveTo(revision);
    notify((listener) => listener.onProgress?.(revision));
    for (const listener of failed) this.#reset(listener);
  }

  #applyOne(change: Change): CacheEvent<E> | undefined {
    // Linear search over a dozen prefixes takes about a microsecond, decoding the object about ten.
    const cache = this.#options.caches.find(({ prefix }) => change.key.startsWith(prefix));
    if (cache === undefined) return undefined;
    try {
      return cache.apply(change);
    } catch (error) {
      // A damaged object counts as deleted, unless its kind says otherwise: a rule that cannot be decoded must grant
      // nothing, and a revocation must still revoke.
      this.#reportUnreadable(change, error);
      return cache.applyUnreadable(change);
    }
  }

  #reportUnreadable({ key }: Pick<KeyValue, 'key'>, cause: unknown): void {
    const problem = this.#options.decodeProblem?.(cause);
    const message = `the value of ${key} cannot be decoded${problem === undefined ? '' : `: ${problem}`}`;
    this.#options.onError(new StorageError('unreadable', message, { cause }));
  }

  #reset(listener: ReflectorListener<E>): void {
    try {
      listener.onReset(this.revision);
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

const isCompacted = (error: unknown): boolean => error instanceof StorageError && error.code === 'compacted';
const isClosed = (error: unknown): boolean => error instanceof StorageError && error.code === 'closed';

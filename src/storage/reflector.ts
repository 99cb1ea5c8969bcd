import { REGISTRY_PREFIX } from '../api/object-key.ts';
import { type Change, type KeyValue, type Revision, StorageError, type Store } from './contract.ts';
import type { CacheEntry } from './snapshot.ts';
import type { CacheEvent, Refill, WatchCache } from './watch-cache.ts';

/**
 * Called with every event, in order, after the caches have applied it. Synchronous. A listener that throws is reset.
 */
export interface ReflectorListener<E extends CacheEntry> {
  onEvent(event: CacheEvent<E>): void;
  /** All events up to this revision have been delivered. */
  onProgress(revision: Revision): void;
  /** Start over from the contents of the caches: events may be missing between the last one and the next one. */
  onReset(revision: Revision): void;
}

export interface ReflectorOptions<E extends CacheEntry> {
  readonly store: Store;
  readonly caches: readonly WatchCache<E>[];
  /** How many revisions back the caches start, so that watches can resume after a restart. */
  readonly historyRevisions: number;
  readonly delay: (ms: number) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

interface Waiter {
  readonly revision: Revision;
  /** On the clock of `performance`. */
  readonly deadline: number;
  readonly resolve: (reached: boolean) => void;
}

/** Small, because a page is decoded in one tick: some ten milliseconds. */
const PAGE = 200;
const RETRY_MS = 500;
const LOAD_ATTEMPTS = 5;

/**
 * Fills the watch caches and keeps them up to date. One watch of the store feeds all of them in the order of revisions,
 * so the caches of all kinds are at one revision.
 */
export class Reflector<E extends CacheEntry> {
  readonly #options: ReflectorOptions<E>;
  readonly #listeners: ReflectorListener<E>[] = [];
  readonly #stop = new AbortController();
  /** Ends the current watch so that the caches are refilled. */
  #restart = new AbortController();
  #waiters: Waiter[] = [];
  #timeout: { readonly timer: NodeJS.Timeout; readonly deadline: number } | undefined;
  #revision: Revision = 0;
  /** The store's revision when the caches were last filled. They are not ready until they reach it. */
  #goal: Revision = Number.POSITIVE_INFINITY;
  #done: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(options: ReflectorOptions<E>) {
    this.#options = options;
  }

  /** The caches include all changes up to this revision. */
  get revision(): Revision {
    return this.#revision;
  }

  /** True once the caches have caught up with the store, until they are refilled. */
  get ready(): boolean {
    return this.#revision >= this.#goal;
  }

  /** Listeners are called in the order in which they were added. */
  listen(listener: ReflectorListener<E>): void {
    this.#listeners.push(listener);
  }

  /** Resolves when the caches have caught up. */
  async start(): Promise<void> {
    await this.#load();
    this.#done = this.#follow().finally(() => this.#end());
    if (!(await this.waitFor(this.#goal))) throw new StorageError('closed', 'closed before the caches were filled');
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
    this.#end();
  }

  /** Refills the caches. Called when they differ from the store. */
  startOver(): void {
    this.#restart.abort();
  }

  #end(): void {
    this.#ended = true;
    clearTimeout(this.#timeout?.timer);
    for (const { resolve } of this.#waiters) resolve(false);
    this.#waiters = [];
  }

  /** Resolves true when the caches include this revision, false after the timeout or when the reflector has stopped. */
  async waitFor(revision: Revision, timeoutMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    if (this.#revision >= revision) return true;
    if (this.#ended) return false;
    const deadline = performance.now() + timeoutMs;
    return new Promise((resolve) => {
      this.#waiters.push({ revision, deadline, resolve });
      this.#setTimeout(deadline);
    });
  }

  /** One timer for all waiters: every write waits here for a moment, and setting a timer would take longer. */
  #setTimeout(deadline: number): void {
    if (deadline === Number.POSITIVE_INFINITY) return;
    if (this.#timeout !== undefined && this.#timeout.deadline <= deadline) return;
    clearTimeout(this.#timeout?.timer);
    const timer = setTimeout(() => this.#expireWaiters(), Math.max(0, deadline - performance.now()));
    timer.unref();
    this.#timeout = { timer, deadline };
  }

  #expireWaiters(): void {
    this.#timeout = undefined;
    const now = performance.now();
    const expired = this.#waiters.filter(({ deadline }) => deadline <= now);
    this.#waiters = this.#waiters.filter(({ deadline }) => deadline > now);
    for (const { resolve } of expired) resolve(false);
    for (const { deadline } of this.#waiters) this.#setTimeout(deadline);
  }

  /** Waits until the caches include every write acknowledged before the call. */
  async catchUp(timeoutMs: number): Promise<boolean> {
    const { store } = this.#options;
    const revision = store.knownRevision?.() ?? (await store.revision());
    return this.#revision >= revision || this.waitFor(revision, timeoutMs);
  }

  /** Fills the caches with a past state; the watch delivers the changes since. */
  async #load(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#loadOnce();
      } catch (error) {
        // Another process may compact between the read of the oldest revision and the lists at it.
        const isCompacted = error instanceof StorageError && error.code === 'compacted';
        if (!isCompacted || attempt >= LOAD_ATTEMPTS) throw error;
      }
    }
  }

  async #loadOnce(): Promise<void> {
    const { store, caches, historyRevisions } = this.#options;
    const now = await store.revision();
    const base = Math.max((await store.compactedRevision()) + 1, now - historyRevisions);
    const refills: Refill[] = [];
    for (const cache of caches) refills.push(await this.#refill(cache, base));
    // All in one tick: no reader sees one kind before and another after the refill.
    for (const refill of refills) refill.finish(base);
    this.#revision = base;
    this.#goal = now;
    for (const listener of this.#listeners) this.#reset(listener);
    this.#wake();
  }

  /** Page by page, so that other work goes on in between and the bytes are not held twice. */
  async #refill(cache: WatchCache<E>, revision: Revision): Promise<Refill> {
    const refill = cache.refill();
    let after: string | undefined;
    for (;;) {
      const request = { prefix: cache.prefix, revision, limit: PAGE, ...(after === undefined ? {} : { after }) };
      const page = await this.#options.store.list(request);
      for (const item of page.items) {
        try {
          refill.add(item);
        } catch (error) {
          this.#options.onError(unreadable(item, error));
        }
      }
      after = page.items.at(-1)?.key;
      if (!page.more || after === undefined) return refill;
    }
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const restart = new AbortController();
      this.#restart = restart;
      try {
        const ended = AbortSignal.any([signal, restart.signal]);
        for await (const batch of this.#options.store.watch(REGISTRY_PREFIX, this.#revision, ended)) {
          this.#apply(batch.changes, batch.revision);
        }
      } catch (error) {
        if (signal.aborted || (error instanceof StorageError && error.code === 'closed')) return;
        this.#options.onError(error);
        if (error instanceof StorageError && error.code === 'compacted') await this.#reload();
        else await this.#options.delay(RETRY_MS);
      }
      if (restart.signal.aborted && !signal.aborted) await this.#reload();
    }
  }

  async #reload(): Promise<void> {
    this.#goal = Number.POSITIVE_INFINITY;
    try {
      await this.#load();
    } catch (error) {
      this.#options.onError(error);
      await this.#options.delay(RETRY_MS);
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
    this.#revision = revision;
    notify((listener) => listener.onProgress(revision));
    for (const listener of failed) this.#reset(listener);
    this.#wake();
  }

  #applyOne(change: Change): CacheEvent<E> | undefined {
    // Linear search over a dozen prefixes takes about a microsecond, decoding the object about ten.
    const cache = this.#options.caches.find(({ prefix }) => change.key.startsWith(prefix));
    if (cache === undefined) return undefined;
    try {
      return cache.apply(change);
    } catch (error) {
      // A damaged object counts as deleted: a rule that cannot be decoded must grant nothing.
      this.#options.onError(unreadable(change, error));
      return cache.apply({ type: 'delete', key: change.key, modRevision: change.modRevision });
    }
  }

  #reset(listener: ReflectorListener<E>): void {
    try {
      listener.onReset(this.#revision);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #wake(): void {
    const waiters = this.#waiters;
    if (waiters.length === 0) return;
    this.#waiters = waiters.filter(({ revision }) => revision > this.#revision);
    for (const { revision, resolve } of waiters) if (revision <= this.#revision) resolve(true);
  }
}

const unreadable = ({ key, modRevision }: Pick<KeyValue, 'key' | 'modRevision'>, cause: unknown): StorageError =>
  new StorageError('unreadable', `the value of ${key} cannot be decoded and is left out`, {
    revision: modRevision,
    cause,
  });

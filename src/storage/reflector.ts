import { REGISTRY_PREFIX } from '../api/object-key.ts';
import { type Change, type KeyValue, type Revision, StorageError, type Store } from './contract.ts';
import type { CacheEntry } from './snapshot.ts';
import type { CacheEvent, Refill, WatchCache } from './watch-cache.ts';

/**
 * Told of every change, in order, after the caches have it. Must not await. One that throws has lost its
 * place: it is reset, and the others go on.
 */
export interface ReflectorListener<E extends CacheEntry> {
  onEvent(event: CacheEvent<E>): void;
  /** All events up to this revision have been told. */
  onProgress(revision: Revision): void;
  /** Start over from what the caches hold: what was told before is no longer connected to what follows. */
  onReset(revision: Revision): void;
}

export interface ReflectorOptions<E extends CacheEntry> {
  readonly store: Store;
  readonly caches: readonly WatchCache<E>[];
  /** How far back the caches start, so that watches survive a restart. */
  readonly historyRevisions: number;
  readonly delay: (ms: number) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

interface Waiter {
  readonly revision: Revision;
  /** On the clock of `performance`. */
  readonly until: number;
  readonly resolve: (reached: boolean) => void;
}

/** Small, because a page is parsed in one turn of the event loop: some ten milliseconds. */
const PAGE = 200;
const RETRY_MS = 500;
const LOAD_ATTEMPTS = 5;

/**
 * Keeps all caches at one revision: one watch over everything feeds them in the store's order, so what
 * different caches say fits together.
 */
export class Reflector<E extends CacheEntry> {
  readonly #options: ReflectorOptions<E>;
  readonly #listeners: ReflectorListener<E>[] = [];
  readonly #stop = new AbortController();
  /** Ends the watch of the moment, and no other. */
  #again = new AbortController();
  #waiters: Waiter[] = [];
  #patience: { readonly timer: NodeJS.Timeout; readonly until: number } | undefined;
  #revision: Revision = 0;
  /** The store's revision when the caches were last (re)filled; until they reach it they show an older state. */
  #goal: Revision = Number.POSITIVE_INFINITY;
  #done: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(options: ReflectorOptions<E>) {
    this.#options = options;
  }

  /** Everything up to here is in the caches. */
  get revision(): Revision {
    return this.#revision;
  }

  /** True once the caches have caught up with the store, until they have to start over. */
  get ready(): boolean {
    return this.#revision >= this.#goal;
  }

  /** Listeners are told in the order in which they came. */
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

  /** The caches were found to hold something else than the store: they are filled anew. */
  startOver(): void {
    this.#again.abort();
  }

  /** Nothing more will come. */
  #end(): void {
    this.#ended = true;
    clearTimeout(this.#patience?.timer);
    for (const { resolve } of this.#waiters) resolve(false);
    this.#waiters = [];
  }

  /** Resolves true when the caches include this revision, false when they do not within the time or ever. */
  async waitFor(revision: Revision, timeoutMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    if (this.#revision >= revision) return true;
    if (this.#ended) return false;
    const until = performance.now() + timeoutMs;
    return new Promise((resolve) => {
      this.#waiters.push({ revision, until, resolve });
      this.#bePatientUntil(until);
    });
  }

  /** One timer for all: whoever writes waits here, for a moment, and a timer for each would take longer to set than they wait. */
  #bePatientUntil(until: number): void {
    if (until === Number.POSITIVE_INFINITY || (this.#patience?.until ?? Number.POSITIVE_INFINITY) <= until) return;
    clearTimeout(this.#patience?.timer);
    const timer = setTimeout(() => this.#giveUp(), Math.max(0, until - performance.now()));
    timer.unref();
    this.#patience = { timer, until };
  }

  #giveUp(): void {
    this.#patience = undefined;
    const now = performance.now();
    const over = this.#waiters.filter(({ until }) => until <= now);
    this.#waiters = this.#waiters.filter(({ until }) => until > now);
    for (const { resolve } of over) resolve(false);
    for (const { until } of this.#waiters) this.#bePatientUntil(until);
  }

  /** Makes the next read as fresh as the store is now. */
  async catchUp(timeoutMs: number): Promise<boolean> {
    const { store } = this.#options;
    const revision = store.knownRevision?.() ?? (await store.revision());
    return this.#revision >= revision || this.waitFor(revision, timeoutMs);
  }

  /** Fills the caches with a past state; what happened since follows through the watch. */
  async #load(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#loadOnce();
      } catch (error) {
        // Another process can compact between our question for the oldest state and our reading of it.
        const overtaken = error instanceof StorageError && error.code === 'compacted';
        if (!overtaken || attempt >= LOAD_ATTEMPTS) throw error;
      }
    }
  }

  async #loadOnce(): Promise<void> {
    const { store, caches, historyRevisions } = this.#options;
    const now = await store.revision();
    const base = Math.max((await store.compactedRevision()) + 1, now - historyRevisions);
    const refills: Refill[] = [];
    for (const cache of caches) refills.push(await this.#refill(cache, base));
    // All at once: nobody sees one kind of after and another of before.
    for (const refill of refills) refill.finish(base);
    this.#revision = base;
    this.#goal = now;
    for (const listener of this.#listeners) this.#reset(listener);
    this.#wake();
  }

  /** Page by page, and parsed as it comes: other work goes on in between, and the bytes are not held twice. */
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
      const again = new AbortController();
      this.#again = again;
      try {
        const until = AbortSignal.any([signal, again.signal]);
        for await (const batch of this.#options.store.watch(REGISTRY_PREFIX, this.#revision, until)) {
          this.#apply(batch.changes, batch.revision);
        }
      } catch (error) {
        if (signal.aborted || (error instanceof StorageError && error.code === 'closed')) return;
        this.#options.onError(error);
        if (error instanceof StorageError && error.code === 'compacted') await this.#reload();
        else await this.#options.delay(RETRY_MS);
      }
      if (again.signal.aborted && !signal.aborted) await this.#reload();
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
    const lost = new Set<ReflectorListener<E>>();
    const tell = (action: (listener: ReflectorListener<E>) => void): void => {
      for (const listener of this.#listeners) {
        if (lost.has(listener)) continue;
        try {
          action(listener);
        } catch (error) {
          this.#options.onError(error);
          lost.add(listener);
        }
      }
    };
    for (const change of changes) {
      const event = this.#applyOne(change);
      if (event !== undefined) tell((listener) => listener.onEvent(event));
    }
    this.#revision = revision;
    tell((listener) => listener.onProgress(revision));
    for (const listener of lost) this.#reset(listener);
    this.#wake();
  }

  #applyOne(change: Change): CacheEvent<E> | undefined {
    // A handful of kinds: looking through their prefixes takes about a microsecond, parsing the object some fifty.
    const cache = this.#options.caches.find(({ prefix }) => change.key.startsWith(prefix));
    if (cache === undefined) return undefined;
    try {
      return cache.apply(change);
    } catch (error) {
      // Damaged, and so as if it were not there: a rule that can not be read grants nothing.
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
  new StorageError('unreadable', `what is stored at ${key} cannot be read and is left out`, {
    revision: modRevision,
    cause,
  });

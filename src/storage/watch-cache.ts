import type { Change, KeyValue } from './contract.ts';
import { type CacheEntry, Snapshot } from './snapshot.ts';

/** One change of one object, as watchers need it: what was there, and what is there now. */
export interface CacheEvent<E extends CacheEntry> {
  readonly cache: WatchCache<E>;
  readonly revision: number;
  readonly before: E | undefined;
  readonly after: E | undefined;
}

export interface WatchCacheOptions<E extends CacheEntry> {
  /** Ends in `/`. */
  readonly prefix: string;
  /** Makes the entry that is kept from what is stored; called once per change, so it may serialize. */
  readonly project: (stored: KeyValue) => E;
  readonly indexLabels?: boolean;
  /** How many past events are kept for watches that resume and lists that continue. */
  readonly windowSize?: number;
}

/** A new state that is put together beside the one that is served. */
export interface Refill {
  /** May throw what `project` throws; the item is left out then. */
  add(item: KeyValue): void;
  /** The new state takes the place of the old one, and history before its revision is gone. */
  finish(revision: number): void;
}

const DEFAULT_WINDOW = 10_000;
/** Bounds what a look into the past costs: half of this many events are undone or done again. */
const CHECKPOINT_EVERY = 500;
/**
 * Bounds what looks into the past hold in memory: whoever lists may ask for any revision of the window.
 * One that was dropped is made again from the nearest checkpoint.
 */
const MAX_PINNED = 16;

/**
 * Current objects of one kind and its recent past. The state at any revision inside the window can be
 * had exactly: from a snapshot that was kept, or by walking the events from the nearest one.
 */
export class WatchCache<E extends CacheEntry> {
  readonly prefix: string;
  readonly #project: (stored: KeyValue) => E;
  readonly #windowSize: number;
  readonly #indexLabels: boolean;
  #current: Snapshot<E>;
  /** The current state for those who keep it; made when first asked for after a change. */
  #present: Snapshot<E> | undefined;
  #window: CacheEvent<E>[] = [];
  /** States at revisions before this one are gone. */
  #windowStart = 0;
  #sinceCheckpoint = 0;
  /** Both by the revision of the last event that each snapshot includes, oldest first. */
  readonly #checkpoints = new Map<number, Snapshot<E>>();
  readonly #pinned = new Map<number, Snapshot<E>>();

  constructor(options: WatchCacheOptions<E>) {
    this.prefix = options.prefix;
    this.#project = options.project;
    this.#windowSize = options.windowSize ?? DEFAULT_WINDOW;
    this.#indexLabels = options.indexLabels ?? false;
    this.#current = this.#empty();
  }

  #empty(): Snapshot<E> {
    return Snapshot.empty({ indexLabels: this.#indexLabels });
  }

  /** The state as far as it has been fed. Changes under the reader's feet, so for looks that do not await. */
  get current(): Snapshot<E> {
    return this.#current;
  }

  /** The state as far as it has been fed, which stays as it is. Readers between two changes share one. */
  get present(): Snapshot<E> {
    this.#present ??= this.#current.copy();
    return this.#present;
  }

  /** Watches can resume from this revision or a later one. */
  get windowStart(): number {
    return this.#windowStart;
  }

  /** The revision of the newest event of this kind. */
  get lastEventRevision(): number {
    return this.#window.at(-1)?.revision ?? this.#windowStart;
  }

  /** Starts over from a full state, item by item: what is served stays whole until the new state is. */
  refill(): Refill {
    const next = this.#empty();
    return {
      add: (item) => next.replace(undefined, this.#project(item)),
      finish: (revision) => {
        const last = this.#current;
        this.#current = next;
        this.#present = undefined;
        this.#window = [];
        this.#windowStart = revision;
        this.#sinceCheckpoint = 0;
        this.#checkpoints.clear();
        this.#pinned.clear();
        last.forEach((entry) => void entry.replaced?.());
      },
    };
  }

  /** When `project` throws, nothing has happened. */
  apply(change: Change): CacheEvent<E> {
    const before = this.#current.get(change.key);
    const after = change.type === 'put' ? this.#project(change) : undefined;
    this.#present = undefined;
    this.#current.replace(before, after);
    const event: CacheEvent<E> = { cache: this, revision: change.modRevision, before, after };
    this.#window.push(event);
    before?.replaced?.();
    this.#sinceCheckpoint++;
    if (this.#sinceCheckpoint >= CHECKPOINT_EVERY) {
      this.#sinceCheckpoint = 0;
      this.#checkpoints.set(event.revision, this.present);
    }
    // Trimmed in bulk: cutting one by one from the front would copy the window at each event.
    if (this.#window.length >= this.#windowSize * 1.25) this.#trim();
    return event;
  }

  #trim(): void {
    const surplus = this.#window.length - this.#windowSize;
    const lastCut = this.#window[surplus - 1];
    if (lastCut === undefined) return;
    this.#window = this.#window.slice(surplus);
    this.#windowStart = lastCut.revision;
    for (const kept of [this.#checkpoints, this.#pinned]) {
      for (const revision of kept.keys()) if (revision < this.#windowStart) kept.delete(revision);
    }
  }

  /** Events after this revision in order, or undefined when some of them are gone. */
  eventsAfter(revision: number): readonly CacheEvent<E>[] | undefined {
    if (revision < this.#windowStart) return undefined;
    return this.#window.slice(this.#firstAfter(revision));
  }

  /**
   * The state at this revision, which stays as it is, or undefined when it is gone. A revision that the cache
   * has not been fed yet counts as the present. The caller must not write to it.
   */
  at(revision: number): Snapshot<E> | undefined {
    if (revision < this.#windowStart) return undefined;
    const target = this.#firstAfter(revision);
    if (target === this.#window.length) return this.present;
    const stateRevision = this.#window[target - 1]?.revision ?? this.#windowStart;
    const kept = this.#pinned.get(stateRevision) ?? this.#checkpoints.get(stateRevision);
    if (kept !== undefined) return kept;
    const past = this.#walkTo(target);
    this.#pin(stateRevision, past);
    return past;
  }

  /** Makes the state before the event with this index from the nearest state that is at hand. */
  #walkTo(target: number): Snapshot<E> {
    let nearest = this.#window.length;
    let from = this.#current;
    for (const kept of [this.#checkpoints, this.#pinned]) {
      for (const [revision, snapshot] of kept) {
        const index = this.#firstAfter(revision);
        if (Math.abs(index - target) >= Math.abs(nearest - target)) continue;
        nearest = index;
        from = snapshot;
      }
    }
    const state = from.copy();
    for (const event of this.#window.slice(target, nearest).reverse()) state.replace(event.after, event.before);
    for (const event of this.#window.slice(nearest, target)) state.replace(event.before, event.after);
    return state;
  }

  /** Keeps the present state at hand, because someone will come back for the rest of a list. */
  pin(): void {
    const revision = this.lastEventRevision;
    if (!this.#pinned.has(revision)) this.#pin(revision, this.present);
  }

  #pin(revision: number, snapshot: Snapshot<E>): void {
    this.#pinned.set(revision, snapshot);
    for (const oldest of this.#pinned.keys()) {
      if (this.#pinned.size <= MAX_PINNED) break;
      this.#pinned.delete(oldest);
    }
  }

  /** Index of the first event after the revision. */
  #firstAfter(revision: number): number {
    let low = 0;
    let high = this.#window.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#window[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

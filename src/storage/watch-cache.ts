import { Cache } from '../lib/cache.ts';
import type { Change, KeyValue } from './contract.ts';
import { HistoryBudget } from './history-budget.ts';
import { type CacheEntry, CacheState, type Snapshot } from './snapshot.ts';

/** One change of one object: the entry before and the entry after it. */
export interface CacheEvent<E extends CacheEntry> {
  readonly cache: WatchCache<E>;
  readonly revision: number;
  readonly before: E | undefined;
  readonly after: E | undefined;
}

/** A stored value that is left out, because `project` throws for it. */
export type Unreadable = Pick<KeyValue, 'key' | 'createRevision' | 'modRevision'>;

interface WatchCacheOptions<E extends CacheEntry> {
  /** Ends in `/`. */
  readonly prefix: string;
  /** Decodes a stored value into its entry; called once for each change. */
  readonly project: (stored: KeyValue) => E;
  /** The entry of a value that `project` throws for. Without it the value counts as deleted. */
  readonly projectUnreadable?: ((stored: KeyValue) => E) | undefined;
  readonly indexLabels?: boolean;
  /** How many past events are kept, for watches that resume and lists that continue. */
  readonly windowSize?: number;
  /** Bounds the bytes of these events; shared with other caches. Default: a budget for this cache alone. */
  readonly budget?: HistoryBudget | undefined;
}

/** A new state, built while the old one is still served. */
export interface Refill {
  /** Throws what `project` throws; `addUnreadable` is called then. */
  add(item: KeyValue): void;
  addUnreadable(item: KeyValue): void;
  /** Replaces the old state. The history before this revision is dropped. */
  finish(revision: number): void;
}

const DEFAULT_WINDOW = 10_000;
/** Bounds the cost of a past state: at most half of this many events are undone or replayed. */
const CHECKPOINT_EVERY = 500;
const MAX_PINNED = 16;

/**
 * The current objects of one kind and their recent history. The state at any revision of the window is available: as a
 * snapshot, or by undoing or replaying events from the nearest checkpoint.
 */
export class WatchCache<E extends CacheEntry> {
  readonly prefix: string;
  readonly #project: (stored: KeyValue) => E;
  readonly #projectUnreadable: ((stored: KeyValue) => E) | undefined;
  readonly #windowSize: number;
  readonly #indexLabels: boolean;
  readonly #budget: HistoryBudget;
  #current: CacheState<E>;
  /** The entries of `#current` by key: a hash finds one, where the tree compares about ten long keys. */
  #byKey = new Map<string, E>();
  /**
   * By key: requests for them, and deletions around them, have to know that they exist. Owned by this cache. Bound: the
   * stored values that cannot be decoded. An entry ends when its key is written or deleted, or the cache is refilled.
   */
  #unreadable = new Map<string, Unreadable>();
  /** An immutable copy of the current state, made on demand and dropped by the next change. */
  #snapshot: Snapshot<E> | undefined;
  #window: CacheEvent<E>[] = [];
  /** Of the versions that events of the window have replaced. All other versions in memory are current. */
  #historyBytes = 0;
  /** States at revisions before this one are gone. */
  #windowStart = 0;
  #sinceCheckpoint = 0;
  /** By the revision of the last event that the snapshot includes, oldest first. */
  readonly #checkpoints = new Map<number, Snapshot<E>>();
  /**
   * Past states that lists continue to read, by revision as above. Owned by this watch cache. An entry is dropped when
   * its revision leaves the window; an evicted one is built again from the nearest checkpoint.
   */
  readonly #pinned = new Cache<number, Snapshot<E>>({ maxEntries: MAX_PINNED });

  constructor(options: WatchCacheOptions<E>) {
    this.prefix = options.prefix;
    this.#project = options.project;
    this.#projectUnreadable = options.projectUnreadable;
    this.#windowSize = options.windowSize ?? DEFAULT_WINDOW;
    this.#indexLabels = options.indexLabels ?? false;
    this.#current = this.#empty();
    this.#budget = options.budget ?? new HistoryBudget();
    this.#budget.add(this);
  }

  #empty(): CacheState<E> {
    return CacheState.empty({ indexLabels: this.#indexLabels });
  }

  /** The current state. It changes with the next event, so it must not be used across an `await`. */
  get current(): Snapshot<E> {
    return this.#current;
  }

  /** The current entry with this key. */
  get(key: string): E | undefined {
    return this.#byKey.get(key);
  }

  /** The stored value with this key, if it is left out. */
  unreadable(key: string): Unreadable | undefined {
    return this.#unreadable.get(key);
  }

  /** The stored values under this prefix that are left out. */
  unreadableUnder(prefix: string): Unreadable[] {
    return [...this.#unreadable.values()].filter(({ key }) => key.startsWith(prefix));
  }

  /** An immutable copy of the current state. Readers between two changes share it. */
  get snapshot(): Snapshot<E> {
    this.#snapshot ??= this.#current.copy();
    return this.#snapshot;
  }

  /** The oldest revision from which a watch can resume. */
  get windowStart(): number {
    return this.#windowStart;
  }

  /** The revision of the newest event of this kind. */
  get lastEventRevision(): number {
    return this.#window.at(-1)?.revision ?? this.#windowStart;
  }

  get historyBytes(): number {
    return this.#historyBytes;
  }

  /** How many past states are in memory. */
  get keptStates(): number {
    return this.#checkpoints.size + this.#pinned.size;
  }

  /** Starts a new state, which is added item by item. The old one is served until it is finished. */
  refill(): Refill {
    const next = this.#empty();
    const nextByKey = new Map<string, E>();
    const nextUnreadable = new Map<string, Unreadable>();
    const add = (entry: E): void => {
      next.replace(undefined, entry);
      nextByKey.set(entry.key, entry);
    };
    return {
      add: (item) => add(this.#project(item)),
      addUnreadable: (item) => {
        const entry = this.#projectUnreadable?.(item);
        if (entry === undefined) nextUnreadable.set(item.key, withoutValue(item));
        else add(entry);
      },
      finish: (revision) => {
        const last = this.#current;
        this.#current = next;
        this.#byKey = nextByKey;
        this.#unreadable = nextUnreadable;
        this.#snapshot = undefined;
        this.#window = [];
        this.#countHistory(-this.#historyBytes);
        this.#windowStart = revision;
        this.#sinceCheckpoint = 0;
        this.#checkpoints.clear();
        this.#pinned.clear();
        last.forEach((entry) => void entry.onReplaced?.());
      },
    };
  }

  /** Throws what `project` throws; the state is unchanged then, and `applyUnreadable` is called. */
  apply(change: Change): CacheEvent<E> {
    return this.#replace(change, change.type === 'put' ? this.#project(change) : undefined);
  }

  applyUnreadable(change: Change): CacheEvent<E> {
    const event = this.#replace(change, change.type === 'put' ? this.#projectUnreadable?.(change) : undefined);
    if (change.type === 'put' && event.after === undefined) this.#unreadable.set(change.key, withoutValue(change));
    return event;
  }

  #replace(change: Change, after: E | undefined): CacheEvent<E> {
    const before = this.#byKey.get(change.key);
    this.#unreadable.delete(change.key);
    this.#snapshot = undefined;
    this.#current.replace(before, after);
    if (after === undefined) this.#byKey.delete(change.key);
    else this.#byKey.set(change.key, after);
    const event: CacheEvent<E> = { cache: this, revision: change.modRevision, before, after };
    this.#window.push(event);
    before?.onReplaced?.();
    this.#sinceCheckpoint++;
    if (this.#sinceCheckpoint >= CHECKPOINT_EVERY) {
      this.#sinceCheckpoint = 0;
      this.#checkpoints.set(event.revision, this.snapshot);
    }
    this.#countHistory(before?.bytes ?? 0);
    // Trimmed in bulk: removing one event from the front would copy the window at each event.
    if (this.#window.length >= this.#windowSize * 1.25) this.#drop(this.#window.length - this.#windowSize);
    return event;
  }

  #countHistory(bytes: number): void {
    this.#historyBytes += bytes;
    this.#budget.count(bytes);
  }

  dropHistory(maxBytes: number): void {
    let left = this.#historyBytes;
    let count = 0;
    while (left > maxBytes && count < this.#window.length) left -= this.#window[count++]?.before?.bytes ?? 0;
    this.#drop(count);
  }

  /** Drops the oldest events. */
  #drop(count: number): void {
    const dropped = this.#window.slice(0, count);
    const last = dropped.at(-1);
    if (last === undefined) return;
    this.#window = this.#window.slice(count);
    this.#windowStart = last.revision;
    this.#countHistory(-dropped.reduce((bytes, { before }) => bytes + (before?.bytes ?? 0), 0));
    for (const states of [this.#checkpoints, this.#pinned]) {
      for (const revision of [...states.keys()]) if (revision < this.#windowStart) states.delete(revision);
    }
  }

  /** The events after this revision in order, or undefined when some have left the window. */
  eventsAfter(revision: number): readonly CacheEvent<E>[] | undefined {
    if (revision < this.#windowStart) return undefined;
    return this.#window.slice(this.#firstAfter(revision));
  }

  /**
   * The state at this revision, or undefined when it has left the window. For a revision that the cache has not reached
   * yet, the current state.
   */
  at(revision: number): Snapshot<E> | undefined {
    if (revision < this.#windowStart) return undefined;
    const target = this.#firstAfter(revision);
    if (target === this.#window.length) return this.snapshot;
    const stateRevision = this.#window[target - 1]?.revision ?? this.#windowStart;
    return (
      this.#checkpoints.get(stateRevision) ?? this.#pinned.getOrCompute(stateRevision, () => this.#rebuild(target))
    );
  }

  /** Builds the state before the event with this index from the nearest checkpoint, or from the current state. */
  #rebuild(target: number): Snapshot<E> {
    let nearest = this.#window.length;
    let from: Snapshot<E> = this.#current;
    for (const [revision, checkpoint] of this.#checkpoints) {
      const index = this.#firstAfter(revision);
      if (Math.abs(index - target) >= Math.abs(nearest - target)) continue;
      nearest = index;
      from = checkpoint;
    }
    const state = from.copy();
    for (const event of this.#window.slice(target, nearest).reverse()) state.replace(event.after, event.before);
    for (const event of this.#window.slice(nearest, target)) state.replace(event.before, event.after);
    return state;
  }

  /** Keeps the current state for the next pages of a list. */
  pin(): void {
    this.#pinned.set(this.lastEventRevision, this.snapshot);
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

const withoutValue = ({ key, createRevision, modRevision }: Unreadable): Unreadable => ({
  key,
  createRevision,
  modRevision,
});

import { createRequire } from 'node:module';
import type btree from 'sorted-btree';
import { prefixEnd } from './scan.ts';

// CommonJS with a `default` export: loaders disagree on how to import it, and agree on `require`.
const { default: BTree } = createRequire(import.meta.url)('sorted-btree') as typeof btree;
type Tree<E> = InstanceType<typeof BTree<string, E>>;

export interface CacheEntry {
  readonly key: string;
  readonly revision: number;
  /** What an index finds it by: its labels and more, each as `indexText`. */
  readonly indexed: readonly string[];
  /** The bytes that it keeps in memory when it is no longer current. */
  readonly bytes: number;
  /**
   * Called when the entry is no longer current. It is rarely read then, so it can drop data that it can compute again.
   */
  onReplaced?(): void;
}

/**
 * UTF-16 order. It equals the store's UTF-8 order except for characters beyond U+FFFF, which only names of roles and
 * bindings may have and whose order no client relies on. The native comparison is three times faster.
 */
const compareKeys = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Labels and keys contain no NUL, so the range of one label does not overlap with another's. Text, and not a property:
 * V8 makes a hidden class for each name that only one object has.
 */
export const indexText = ([label, value]: readonly [label: string, value: string]): string => `${label}\0${value}`;
const indexKey = (text: string, key: string): string => `${text}\0${key}`;

/** Ends an iteration of the tree. */
const STOP = { break: 0 };

/** A state as a cache shows it. Its owner may still change it; a reader who wants to keep or change it makes a copy. */
export type Snapshot<E extends CacheEntry> = Omit<CacheState<E>, 'replace'>;

/**
 * The objects of one kind at one revision: in key order, and by label. `copy` is cheap: the B-trees share their nodes
 * until one of them is modified.
 */
export class CacheState<E extends CacheEntry> {
  readonly #byKey: Tree<E>;
  readonly #byLabel: Tree<E> | undefined;

  private constructor(byKey: Tree<E>, byLabel: Tree<E> | undefined) {
    this.#byKey = byKey;
    this.#byLabel = byLabel;
  }

  static empty<E extends CacheEntry>(options: { indexLabels: boolean }): CacheState<E> {
    return new CacheState<E>(
      new BTree<string, E>(undefined, compareKeys),
      options.indexLabels ? new BTree<string, E>(undefined, compareKeys) : undefined,
    );
  }

  copy(): CacheState<E> {
    return new CacheState(this.#byKey.clone(), this.#byLabel?.clone());
  }

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): E | undefined {
    return this.#byKey.get(key);
  }

  /** Replaces `before` by `after`; undefined for `before` inserts, for `after` deletes. */
  replace(before: E | undefined, after: E | undefined): void {
    if (before !== undefined && after === undefined) this.#byKey.delete(before.key);
    if (after !== undefined) this.#byKey.set(after.key, after);
    if (this.#byLabel === undefined) return;
    const indexed = after?.indexed ?? [];
    const kept = new Set(before && indexed);
    for (const text of before?.indexed ?? []) {
      if (!kept.has(text)) this.#byLabel.delete(indexKey(text, before?.key ?? ''));
    }
    for (const text of indexed) this.#byLabel.set(indexKey(text, after?.key ?? ''), after as E);
  }

  forEach(act: (entry: E) => void): void {
    this.#byKey.forEachPair((_, entry) => act(entry));
  }

  /** Entries under the prefix in key order, after the given key. */
  *scan(prefix: string, after?: string): Generator<E> {
    const end = prefixEnd(prefix);
    const start = after !== undefined && after >= prefix ? after : prefix;
    for (const [key, entry] of this.#byKey.entries(start)) {
      if (key >= end) return;
      if (key !== after) yield entry;
    }
  }

  /** As `scan`, appended to an array until it holds `limit` entries: cheaper than a generator. */
  collect(into: E[], prefix: string, after: string | undefined, limit: number): void {
    const start = after !== undefined && after >= prefix ? after : prefix;
    this.#byKey.forRange(start, prefixEnd(prefix), false, (key, entry) => {
      if (key !== after) into.push(entry);
      return into.length < limit ? undefined : STOP;
    });
  }

  /** The number of entries under the prefix, after the given key. */
  count(prefix: string, after?: string): number {
    if (after !== undefined && after >= prefix) {
      return this.#byKey.forRange(after, prefixEnd(prefix), false) - (this.#byKey.has(after) ? 1 : 0);
    }
    const first = this.#byKey.minKey();
    const last = this.#byKey.maxKey();
    const end = prefixEnd(prefix);
    if (first === undefined || last === undefined) return 0;
    if (first >= prefix && last < end) return this.#byKey.size;
    return this.#byKey.forRange(prefix, end, false);
  }

  /** Entries with this label in key order, from the given key on. Only for kinds with a label index. */
  *withLabel(label: string, value: string, from = ''): Generator<E> {
    if (this.#byLabel === undefined) throw new Error('this kind has no label index');
    const prefix = indexKey(indexText([label, value]), '');
    for (const [key, entry] of this.#byLabel.entries(`${prefix}${from}`)) {
      if (!key.startsWith(prefix)) return;
      yield entry;
    }
  }

  /** As `withLabel`, appended to an array. */
  collectLabel(into: E[], label: string, value: string): void {
    if (this.#byLabel === undefined) throw new Error('this kind has no label index');
    const prefix = indexKey(indexText([label, value]), '');
    this.#byLabel.forRange(prefix, `${prefix.slice(0, -1)}\u0001`, false, (_, entry) => {
      into.push(entry);
    });
  }

  get indexed(): boolean {
    return this.#byLabel !== undefined;
  }
}

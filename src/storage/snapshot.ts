import { createRequire } from 'node:module';
import type btree from 'sorted-btree';

// CommonJS with a `default`: loaders disagree on what an import of that gives, and agree on `require`.
const { default: BTree } = createRequire(import.meta.url)('sorted-btree') as typeof btree;
type Tree<E> = InstanceType<typeof BTree<string, E>>;

/** What the cache needs to know of an object; what else an entry carries is the owner's business. */
export interface CacheEntry {
  readonly key: string;
  readonly revision: number;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** It is not the current one any more. It may still be asked for, but seldom is: what can be made again need not be kept. */
  replaced?(): void;
}

/**
 * The order of UTF-16, which is the store's order (UTF-8) for all names but those with characters beyond U+FFFF.
 * Only rules may have such names, nobody relies on where they stand, and the native comparison is three times faster.
 */
const compareKeys = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Labels and keys hold no NUL, so a range over one label can not run into another. */
const indexKey = (label: string, value: string, key: string): string => `${label}\0${value}\0${key}`;

/** The first key after everything that starts with this prefix, which ends in `/`. */
const endOf = (prefix: string): string => `${prefix.slice(0, -1)}0`;

const NO_LABELS: NonNullable<CacheEntry['labels']> = {};

/** Ends a walk over a tree. */
const STOP = { break: 0 };

/**
 * The objects of one kind at one moment: in key order, and by label. `copy` costs nothing: trees share
 * their nodes until one of them is written to.
 */
export class Snapshot<E extends CacheEntry> {
  readonly #byKey: Tree<E>;
  readonly #byLabel: Tree<E> | undefined;

  private constructor(byKey: Tree<E>, byLabel: Tree<E> | undefined) {
    this.#byKey = byKey;
    this.#byLabel = byLabel;
  }

  static empty<E extends CacheEntry>(options: { indexLabels: boolean }): Snapshot<E> {
    return new Snapshot<E>(
      new BTree<string, E>(undefined, compareKeys),
      options.indexLabels ? new BTree<string, E>(undefined, compareKeys) : undefined,
    );
  }

  copy(): Snapshot<E> {
    return new Snapshot(this.#byKey.clone(), this.#byLabel?.clone());
  }

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): E | undefined {
    return this.#byKey.get(key);
  }

  /** Puts `after` in the place of `before`; either may be missing. */
  replace(before: E | undefined, after: E | undefined): void {
    if (before !== undefined && after === undefined) this.#byKey.delete(before.key);
    if (after !== undefined) this.#byKey.set(after.key, after);
    if (this.#byLabel === undefined) return;
    const [were, are] = [before?.labels ?? NO_LABELS, after?.labels ?? NO_LABELS];
    for (const label of Object.keys(were)) {
      const value = were[label] ?? '';
      if (are[label] !== value) this.#byLabel.delete(indexKey(label, value, before?.key ?? ''));
    }
    for (const label of Object.keys(are)) {
      this.#byLabel.set(indexKey(label, are[label] ?? '', after?.key ?? ''), after as E);
    }
  }

  forEach(act: (entry: E) => void): void {
    this.#byKey.forEachPair((_, entry) => act(entry));
  }

  /** Entries under the prefix in key order, after the given key. */
  *scan(prefix: string, after?: string): Generator<E> {
    const end = endOf(prefix);
    const start = after !== undefined && after >= prefix ? after : prefix;
    for (const [key, entry] of this.#byKey.entries(start)) {
      if (key >= end) return;
      if (key !== after) yield entry;
    }
  }

  /** The same, put into a list until it holds so many: without the price of a generator's step for each. */
  collect(into: E[], prefix: string, after: string | undefined, limit: number): void {
    const start = after !== undefined && after >= prefix ? after : prefix;
    this.#byKey.forRange(start, endOf(prefix), false, (key, entry) => {
      if (key !== after) into.push(entry);
      return into.length < limit ? undefined : STOP;
    });
  }

  /** How many entries are under the prefix, after the given key. */
  count(prefix: string, after?: string): number {
    if (after !== undefined && after >= prefix) {
      return this.#byKey.forRange(after, endOf(prefix), false) - (this.#byKey.has(after) ? 1 : 0);
    }
    const first = this.#byKey.minKey();
    const last = this.#byKey.maxKey();
    const end = endOf(prefix);
    if (first === undefined || last === undefined) return 0;
    if (first >= prefix && last < end) return this.#byKey.size;
    return this.#byKey.forRange(prefix, end, false);
  }

  /** Entries that carry this label, in key order. Only for kinds that are indexed. */
  *withLabel(label: string, value: string): Generator<E> {
    if (this.#byLabel === undefined) throw new Error('this kind has no label index');
    const prefix = indexKey(label, value, '');
    for (const [key, entry] of this.#byLabel.entries(prefix)) {
      if (!key.startsWith(prefix)) return;
      yield entry;
    }
  }

  /** The same, all of them into a list. */
  collectLabel(into: E[], label: string, value: string): void {
    if (this.#byLabel === undefined) throw new Error('this kind has no label index');
    const prefix = indexKey(label, value, '');
    this.#byLabel.forRange(prefix, `${prefix.slice(0, -1)}\u0001`, false, (_, entry) => {
      into.push(entry);
    });
  }

  get indexed(): boolean {
    return this.#byLabel !== undefined;
  }
}

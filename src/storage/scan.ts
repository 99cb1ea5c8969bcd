import { type Expectation, type KeyValue, type Revision, StorageError, type Store } from './contract.ts';

/** Items of the first page, whose sizes are not known. */
const FIRST_ITEMS = 200;
/**
 * The size of a page. etcd counts all keys from the start of a page to the end of the range, whatever the limit: pages
 * of 200 of a million keys made it visit two thousand million keys. So pages are as large as one message may well be.
 */
const PAGE_BYTES = 4 * 1024 * 1024;
const MAX_PAGE_ITEMS = 4_000;

/** All items below a prefix at one revision, in order of their keys, in pages. Yields nothing when there are none. */
export async function* scan(
  store: Pick<Store, 'list'>,
  { prefix, revision }: { readonly prefix: string; readonly revision: Revision },
): AsyncGenerator<readonly KeyValue[]> {
  let limit = FIRST_ITEMS;
  let after: string | undefined;
  for (;;) {
    const { items, more } = await store.list({ prefix, revision, limit, ...(after === undefined ? {} : { after }) });
    if (items.length > 0) yield items;
    after = items.at(-1)?.key;
    if (!more || after === undefined) return;
    limit = nextLimit(items, limit);
  }
}

/** As many items as fill a page if they are like these; at most twice as many, because others may be larger. */
function nextLimit(items: readonly KeyValue[], limit: number): number {
  const bytes = items.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  const fitting = Math.floor((PAGE_BYTES / bytes) * items.length);
  return Math.max(FIRST_ITEMS, Math.min(fitting, 2 * limit, MAX_PAGE_ITEMS));
}

/** The condition that a key is still as it was read; undefined is a key that did not exist. */
export const asRead = (read: Pick<KeyValue, 'modRevision'> | undefined): Expectation =>
  read === undefined ? { absent: true } : { modRevision: read.modRevision };

const ATTEMPTS = 16;

/**
 * Replaces the value of a key that other processes change, too. `next` gets the present value, and returns undefined if
 * that can stay. Resolves with the value before.
 */
export async function updateKey(
  store: Pick<Store, 'get' | 'write'>,
  key: string,
  next: (before: Uint8Array | undefined) => Uint8Array | undefined,
): Promise<Uint8Array | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const read = await store.get(key);
    const value = next(read?.value);
    if (value === undefined || (await store.write({ key, value, expect: asRead(read) })).ok) return read?.value;
  }
  throw new StorageError('unavailable', `${key} was changed by others in each of ${ATTEMPTS} attempts`);
}

/** The first key after all keys with this prefix: prefixes end in `/`, and `0` is the next byte. */
export const prefixEnd = (prefix: string): string => `${prefix.slice(0, -1)}0`;

/** The clocks of the machines that hold the store. Not every engine has this. */
export interface StoreTime {
  /** Reads the clock of each machine; those that do not answer in time are left out. Never rejects. */
  ask(monotonic: () => number): Promise<readonly TimeReading[]>;
}

export interface TimeReading {
  readonly member: string;
  /** Epoch milliseconds of a clock that shows whole seconds: the time was this, or up to a second later. */
  readonly time: number;
  /** On the monotonic clock: the clock was read between these two. */
  readonly asked: number;
  readonly answered: number;
}

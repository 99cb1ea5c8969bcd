import { randomUUID } from 'node:crypto';
import { backoff, pause } from '../lib/backoff.ts';
import { inParallel } from '../lib/promises.ts';
import { ENGINE_KEYS, type Guard, IMPORT_KEY, type Revision, StorageError, type Store } from '../storage/contract.ts';
import { asRead } from '../storage/scan.ts';
import { type Archive, ArchiveError, type ArchiveItem } from './archive.ts';

interface ImportTarget {
  open(): Promise<Store>;
  /** Makes every later revision greater than this one, and those before it unreadable. The store must be closed. */
  seedRevision(revision: Revision): Promise<void>;
  /** Called when an item has been created. */
  readonly onCreated?: () => void;
}

const CONCURRENCY = 64;
const PAGE = 1_000;
/** Together more than a minute: a cluster of etcd elects a leader in less, also on overloaded disks. */
const ATTEMPTS = 20;
const BACKOFF_MS = { first: 200, most: 5_000 };

/**
 * Fills an empty store. Values are imported unchanged, including uids. Revisions continue after those of the exported
 * store, so that no resourceVersion that a client has seen is used again: a watch from before the move gets 410, and
 * its client lists again.
 *
 * A key marks the store during the import. A server refuses to open such a store, and another import starts over.
 *
 * A write without an answer is repeated, and may happen late, even after the import. Each write demands the mark of
 * this import, so a late one changes nothing.
 *
 * A watch that resumed in the middle of an import would miss changes of its beginning, and another import of the same
 * file gives the same revisions to other keys. So the revisions of the import become unreadable before the mark is
 * removed.
 */
export async function importStore(target: ImportTarget, { revision, items }: Archive): Promise<Revision> {
  const value = Buffer.from(`import ${randomUUID()}`);
  // A wrong address fails at once; later failures are retried.
  let store = await target.open();
  try {
    const seed = async (): Promise<ImportSteps> => {
      await store.close();
      await repeated(() => target.seedRevision(revision));
      store = await repeated(() => target.open());
      return new ImportSteps(store, value);
    };
    await new ImportSteps(store, value).clear();
    const filling = await seed();
    await filling.fill(items, target.onCreated);
    const finishing = await seed();
    return await finishing.finish();
  } finally {
    await store.close();
  }
}

/** The steps of an import on an open store, each repeated while the store is unavailable. */
class ImportSteps {
  readonly #store: Store;
  /** The value of the mark, which no other import has. */
  readonly #value: Uint8Array;

  constructor(store: Store, value: Uint8Array) {
    this.#store = store;
    this.#value = value;
  }

  /** Marks an empty store, or one with an interrupted import, whose late writes fail from now on. */
  async #mark(): Promise<Guard> {
    const found = await repeated(() => this.#store.get(IMPORT_KEY));
    if (found === undefined) await this.#requireEmpty();
    const expect = asRead(found);
    await repeated(async (isRepeated) => {
      const result = await this.#store.write({ key: IMPORT_KEY, value: this.#value, expect });
      if (!result.ok && !(isRepeated && equal(result.current?.value, this.#value))) throw otherImport();
    });
    return this.#marked();
  }

  async #requireEmpty(): Promise<void> {
    // One key more than those of the engine is enough to know.
    const limit = ENGINE_KEYS.length + 1;
    const { items } = await repeated(() => this.#store.list({ prefix: '/', limit }));
    if (items.every(({ key }) => ENGINE_KEYS.includes(key))) return;
    throw new ArchiveError('the store is not empty: choose another file or another prefix');
  }

  /** The mark as a condition of writes. Its revision changes when the store's revision is seeded. */
  async #marked(): Promise<Guard & { readonly expect: { readonly modRevision: Revision } }> {
    const mark = await repeated(() => this.#store.get(IMPORT_KEY));
    if (mark === undefined || !equal(mark.value, this.#value)) throw otherImport();
    return { key: IMPORT_KEY, expect: { modRevision: mark.modRevision } };
  }

  /** Marks the store, and removes the keys of an interrupted import. */
  async clear(): Promise<void> {
    const mark = await this.#mark();
    for (;;) {
      const { items, more } = await repeated(() => this.#store.list({ prefix: '/', limit: PAGE }));
      const imported = items.filter(({ key }) => !ENGINE_KEYS.includes(key));
      await inParallel(imported, CONCURRENCY, ({ key, modRevision }) =>
        repeated(async (isRepeated) => {
          const expect = { modRevision };
          const result = await this.#store.write({ key, value: null, expect, guards: [mark] });
          if (!result.ok && !(isRepeated && result.key === key && result.current === undefined)) throw otherImport();
        }),
      );
      if (!more || imported.length === 0) return;
    }
  }

  async fill(items: readonly ArchiveItem[], onCreated?: () => void): Promise<void> {
    const mark = await this.#marked();
    for (const level of byDepth(items)) {
      await inParallel(level, CONCURRENCY, async (item) => {
        await this.#create(item, mark);
        onCreated?.();
      });
    }
  }

  /** Removes the mark. Returns the revision at which the store is complete. */
  async finish(): Promise<Revision> {
    const mark = await this.#marked();
    return repeated(async (isRepeated) => {
      const result = await this.#store.write({ ...mark, value: null });
      if (!result.ok && !(isRepeated && result.current === undefined)) throw otherImport();
      return result.revision;
    });
  }

  #create({ key, value }: ArchiveItem, mark: Guard): Promise<void> {
    return repeated(async (isRepeated) => {
      const result = await this.#store.write({ key, value, expect: { absent: true }, guards: [mark] });
      if (result.ok) return;
      if (result.key === IMPORT_KEY) throw otherImport();
      if (isRepeated && equal(result.current?.value, value)) return;
      throw new ArchiveError(`${key} was written by another process during the import: stop that process`);
    });
  }
}

/** Repeats a call while the store is unavailable. With `isRepeated`, an earlier call may have happened nevertheless. */
async function repeated<T>(call: (isRepeated: boolean) => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call(attempt > 0);
    } catch (error) {
      const isPassing =
        error instanceof StorageError && (error.code === 'unavailable' || error.code === 'unknown-outcome');
      if (!isPassing || attempt >= ATTEMPTS) throw error;
      await pause(backoff(attempt, BACKOFF_MS));
    }
  }
}

const otherImport = (): ArchiveError =>
  new ArchiveError('another import into this store has begun or finished: run one import at a time');

const equal = (a: Uint8Array | undefined, b: Uint8Array): boolean => a !== undefined && Buffer.compare(a, b) === 0;

/** A child has more parts in its key than its parent, and is created after it. */
function byDepth(items: readonly ArchiveItem[]): ArchiveItem[][] {
  const levels = Map.groupBy(items, ({ key }) => key.split('/').length);
  return [...levels.keys()]
    .toSorted((a, b) => a - b)
    .map((depth) => (levels.get(depth) ?? []).toSorted((a, b) => a.createRevision - b.createRevision));
}

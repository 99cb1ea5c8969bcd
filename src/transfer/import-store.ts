import { inParallel } from '../lib/in-parallel.ts';
import { ENGINE_KEYS, IMPORT_KEY, type Revision, type Store } from '../storage/contract.ts';
import { type Archive, ArchiveError, type ArchiveItem } from './archive.ts';

export interface ImportTarget {
  /** Opens the store, also in the middle of an import. */
  open(): Promise<Store>;
  /** Makes every later revision greater than this one, and earlier ones unreadable. The store must be closed. */
  seedRevision(revision: Revision): Promise<void>;
}

const CONCURRENCY = 64;
const PAGE = 1_000;

/**
 * Fills an empty store. Values are imported unchanged, including uids. Revisions continue after those of the exported
 * store, so that no resourceVersion that a client has seen is used again: a watch from before the move gets 410, and
 * its client lists again.
 *
 * A key marks the store during the import. A server refuses to open such a store, and another import starts over.
 */
export async function importStore(target: ImportTarget, { revision, items }: Archive): Promise<Revision> {
  let store = await target.open();
  try {
    await clear(store);
    await store.close();
    await target.seedRevision(revision);
    store = await target.open();
    for (const level of byDepth(items)) {
      await inParallel(level, CONCURRENCY, (item) => create(store, item.key, item.value));
    }
    const mark = await store.get(IMPORT_KEY);
    if (mark === undefined) throw new ArchiveError('another import into this store has finished first');
    const expect = { modRevision: mark.modRevision };
    return (await store.write({ key: IMPORT_KEY, value: null, expect })).revision;
  } finally {
    await store.close();
  }
}

/** Removes the keys of an interrupted import, and marks the store. */
async function clear(store: Store): Promise<void> {
  const mark = await store.get(IMPORT_KEY);
  for (;;) {
    const { items, more } = await store.list({ prefix: '/', limit: PAGE });
    const imported = items.filter(({ key }) => !ENGINE_KEYS.includes(key));
    if (imported.length > 0 && mark === undefined) {
      throw new ArchiveError('the store is not empty: choose another file or another prefix');
    }
    await inParallel(imported, CONCURRENCY, async ({ key, modRevision }) => {
      await store.write({ key, value: null, expect: { modRevision } });
    });
    if (!more || imported.length === 0) break;
  }
  if (mark === undefined) await create(store, IMPORT_KEY, Buffer.from('import'));
}

/** A dependent has more parts in its key than its owner, and is created after it. */
function byDepth(items: readonly ArchiveItem[]): ArchiveItem[][] {
  const levels = Map.groupBy(items, ({ key }) => key.split('/').length);
  return [...levels.keys()]
    .toSorted((a, b) => a - b)
    .map((depth) => (levels.get(depth) ?? []).toSorted((a, b) => a.createRevision - b.createRevision));
}

async function create(store: Store, key: string, value: Uint8Array): Promise<void> {
  const result = await store.write({ key, value, expect: { absent: true } });
  if (!result.ok) throw new ArchiveError(`${key} was written by another process during the import: stop that process`);
}

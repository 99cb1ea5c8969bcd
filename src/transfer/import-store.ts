import { ENGINE_KEYS, IMPORT_KEY, type Revision, type Store } from '../storage/contract.ts';
import { type Archive, ArchiveError, type ArchiveItem } from './archive.ts';

export interface ImportTarget {
  /** Opens it, whatever state it is in. */
  open(): Promise<Store>;
  /** Makes every later revision greater than this one, and what came before unreadable. The store is closed then. */
  seedRevision(revision: Revision): Promise<void>;
}

/** Writes under way at once. */
const AT_ONCE = 64;
const PAGE = 1_000;

/**
 * Fills an empty store. Values are kept as they are, and with them the uids; the revision goes on from where the other
 * store was, so that no version that a client has seen is ever given again: a watch from before gets 410 and lists anew.
 *
 * A mark in the store says that this is under way. A server refuses to open such a store, and an import that was cut off
 * is begun anew.
 */
export async function importStore(target: ImportTarget, { revision, items }: Archive): Promise<Revision> {
  let store = await target.open();
  try {
    await prepare(store);
    await store.close();
    await target.seedRevision(revision);
    store = await target.open();
    for (const wave of waves(items)) await inBatches(wave, (item) => create(store, item.key, item.value));
    const mark = await store.get(IMPORT_KEY);
    if (mark === undefined) throw new ArchiveError('another import into this store was faster');
    const expect = { modRevision: mark.modRevision };
    return (await store.write({ key: IMPORT_KEY, value: null, expect })).revision;
  } finally {
    await store.close();
  }
}

async function prepare(store: Store): Promise<void> {
  const mark = await store.get(IMPORT_KEY);
  for (;;) {
    const { items, more } = await store.list({ prefix: '/', limit: PAGE });
    const theirs = items.filter(({ key }) => !ENGINE_KEYS.includes(key));
    if (theirs.length > 0 && mark === undefined) {
      throw new ArchiveError('the store is not empty: choose one that is (another file, another prefix)');
    }
    await inBatches(theirs, async ({ key, modRevision }) => {
      await store.write({ key, value: null, expect: { modRevision } });
    });
    if (!more || theirs.length === 0) break;
  }
  if (mark === undefined) await create(store, IMPORT_KEY, Buffer.from('import'));
}

/** What is inside something has more parts in its key, and is made after it. */
function waves(items: readonly ArchiveItem[]): ArchiveItem[][] {
  const byDepth = Map.groupBy(items, ({ key }) => key.split('/').length);
  return [...byDepth.keys()]
    .toSorted((a, b) => a - b)
    .map((depth) => (byDepth.get(depth) ?? []).toSorted((a, b) => a.createRevision - b.createRevision));
}

async function create(store: Store, key: string, value: Uint8Array): Promise<void> {
  const result = await store.write({ key, value, expect: { absent: true } });
  if (!result.ok) throw new ArchiveError(`${key} appeared in the store while it was filled: who else writes to it?`);
}

async function inBatches<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += AT_ONCE) {
    await Promise.all(items.slice(start, start + AT_ONCE).map(act));
  }
}

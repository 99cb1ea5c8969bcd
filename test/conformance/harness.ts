import {
  type Change,
  type KeyValue,
  type Revision,
  StorageError,
  type Store,
  type Write,
} from '../../src/storage/contract.ts';

/** The parts of an engine that the suite needs. */
export interface StoreUnderTest {
  /** An empty store. Its revision may be any: etcd shares its counter. */
  open(): Promise<Store>;
  /** Closes the store and opens it again. */
  reopen(store: Store): Promise<Store>;
  /** Closes the store, seeds its revision, and opens it again. */
  seedRevision(store: Store, revision: Revision): Promise<Store>;
  /** Closes the store, if it is open, and removes its data. */
  destroy(store: Store): Promise<void>;
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

/** The revision of a write that must succeed. */
export async function done(store: Store, write: Write): Promise<Revision> {
  const result = await store.write(write);
  if (!result.ok) throw new Error(`the write to ${write.key} was refused because of ${result.key}`);
  return result.revision;
}

export const create = (store: Store, key: string, value: string): Promise<Revision> =>
  done(store, { key, value: bytes(value), expect: { absent: true } });

export const update = (store: Store, key: string, modRevision: Revision, value: string): Promise<Revision> =>
  done(store, { key, value: bytes(value), expect: { modRevision } });

export const remove = (store: Store, key: string, modRevision: Revision): Promise<Revision> =>
  done(store, { key, value: null, expect: { modRevision } });

/** In a form that a failed assertion prints well. */
export const readable = (item: KeyValue | undefined) =>
  item && { key: item.key, value: text(item.value), mod: item.modRevision, created: item.createRevision };

export const readableChange = (change: Change) =>
  change.type === 'put' ? readable(change) : { key: change.key, deleted: change.modRevision };

/** The changes of a watch up to a revision, which may be in the future. */
export async function watchUntil(store: Store, prefix: string, after: Revision, until: Revision): Promise<Change[]> {
  const changes: Change[] = [];
  if (after >= until) return changes;
  const stop = new AbortController();
  let position = after;
  try {
    for await (const batch of store.watch(prefix, after, stop.signal)) {
      if (batch.revision <= position) throw new Error(`the watch went from ${position} to ${batch.revision}`);
      for (const change of batch.changes) {
        if (change.modRevision <= position || change.modRevision > batch.revision) {
          throw new Error(`change ${change.modRevision} in a batch that reaches from ${position} to ${batch.revision}`);
        }
      }
      position = batch.revision;
      changes.push(...batch.changes);
      if (position >= until) return changes.filter(({ modRevision }) => modRevision <= until);
    }
    throw new Error(`the watch ended at ${position}`);
  } finally {
    stop.abort();
  }
}

/** The code of the StorageError that a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<{ code: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof StorageError) return { code: error.code };
    throw error;
  }
  throw new Error('it did not fail');
}

/** The newest revision that can no longer be read; 0 when nothing has been compacted. */
export async function compactedRevision(store: Pick<Store, 'get' | 'revision'>): Promise<Revision> {
  const isReadable = (revision: Revision): Promise<boolean> =>
    store.get('/', revision).then(
      () => true,
      (error: unknown) => {
        if (error instanceof StorageError && error.code === 'compacted') return false;
        throw error;
      },
    );
  let [gone, oldest] = [0, await store.revision()];
  while (oldest - gone > 1) {
    const middle = Math.floor((gone + oldest) / 2);
    if (await isReadable(middle)) oldest = middle;
    else gone = middle;
  }
  return gone;
}

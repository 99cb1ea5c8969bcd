import {
  type Change,
  type KeyValue,
  type Revision,
  StorageError,
  type Store,
  type Write,
} from '../../src/storage/contract.ts';

/** What the suite needs of an engine. */
export interface StoreUnderTest {
  /** A store with nothing in it. Its revision may be anything: an engine may share one with others. */
  open(): Promise<Store>;
  /** Closes the store and opens what it stored again. */
  reopen(store: Store): Promise<Store>;
  /** Closes the store, lifts what it stored above a revision, and opens it again. */
  seedRevision(store: Store, revision: Revision): Promise<Store>;
  /** Closes the store, if it is open, and removes what it stored. */
  destroy(store: Store): Promise<void>;
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

/** A write that has to succeed; its revision. */
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

/** In a form that a failed comparison prints readably. */
export const readable = (item: KeyValue | undefined) =>
  item && { key: item.key, value: text(item.value), mod: item.modRevision, created: item.createRevision };

export const readableChange = (change: Change) =>
  change.type === 'put' ? readable(change) : { key: change.key, deleted: change.modRevision };

/** The watch's changes up to a revision that has happened or is going to. */
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

/** The code a promise fails with, and the revision that comes along. */
export async function failure(promise: Promise<unknown>): Promise<{ code: string; revision: Revision | undefined }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof StorageError) return { code: error.code, revision: error.revision };
    throw error;
  }
  throw new Error('it did not fail');
}

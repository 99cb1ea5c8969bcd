import type { Catalog } from '../api/catalog.ts';
import { type Kind, kindPrefix, type ObjectKey } from '../api/kind.ts';
import { ApiError, conflict } from '../api/status.ts';
import { inParallel, Slots } from '../lib/promises.ts';
import type { Work } from '../lib/work-queue.ts';
import type { Store, Write, WriteResult } from '../storage/contract.ts';
import { findParents, isParent, mustBeEmpty, objectsInside, unreadableInside } from './parents.ts';
import type { ObjectReader } from './reader.ts';
import { asApiError } from './storage-errors.ts';
import type { StoredObject } from './stored-object.ts';
import type { ObjectWriter } from './writer.ts';

interface DeletionPropagationParts {
  readonly store: Store;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'remove' | 'removeEmptied'>;
  readonly catalog: Catalog;
  readonly work: Work;
}

/** Writes of all deletions together: enough for the store to commit them at once, few enough not to delay others. */
const CONCURRENCY = 64;
const MAX_ROUNDS = 8;

/** A version of a stored object. */
type Version = Pick<StoredObject, 'key' | 'createRevision'>;

/**
 * Deletes the children of a namespace or cluster that is being deleted, and then the parent itself. An object with
 * finalizers waits for them, and so do its parents.
 *
 * A create is guarded by the existence of its parents, and the deletion of a parent by there being nothing inside it.
 * So no object is left without its parents. A deletion that fails or is interrupted is completed by the leader, or at
 * the next start: a parent that has a deletionTimestamp is deleted again.
 */
export function createDeletionPropagation({ store, reader, writer, catalog, work }: DeletionPropagationParts) {
  const writes = new Slots(CONCURRENCY);

  /** Called after a deletion or an update: deletes parents that waited for it, from the inside out. */
  async function finishDeletions(kind: Kind, objectKey: ObjectKey): Promise<void> {
    const parents = findParents(catalog, reader, kind, objectKey).toReversed();
    for (const entry of [...(isParent(kind) ? [reader.find(kind, objectKey)] : []), ...parents]) {
      if (entry !== undefined && !('missing' in entry) && entry.deletionTimestamp !== undefined) {
        await finish(entry);
      }
    }
  }

  /**
   * Deletes an object whose stored value cannot be decoded, and everything inside it, regardless of finalizers: its own
   * are unknown, and nothing inside it can be used.
   */
  async function removeUnreadable(kind: Kind, objectKey: ObjectKey): Promise<void> {
    await reader.catchUp();
    const found = reader.findUnreadable(kind, objectKey);
    if (found === undefined) throw reader.absence(kind, objectKey);
    const parent = { ...objectKey, kind };
    await erase(found, [...objectsInside(catalog, reader, parent), ...unreadableInside(catalog, reader, parent)]);
    const expect = { modRevision: found.modRevision };
    const { ok } = await write({ key: found.key, value: null, expect, guards: mustBeEmpty(catalog, parent) });
    if (!ok) throw conflict(kind, objectKey.name, 'the object has been modified; please try again');
    await finishDeletions(kind, objectKey);
  }

  /** Called at the start, and again and again by the leader: completes deletions that failed or were interrupted. */
  async function resume(): Promise<void> {
    const failures: unknown[] = [];
    for (const kind of [catalog.namespaces, catalog.clusters]) {
      for (const entry of reader.cache(kind).snapshot.scan(kindPrefix(kind))) {
        if (work.isUsedUp) await work.turn();
        if (entry.deletionTimestamp !== undefined) await finish(entry).catch((error) => failures.push(error));
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Deletes a parent that is marked for deletion, as far as finalizers allow. Idempotent. */
  async function finish(parent: StoredObject): Promise<void> {
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      await reader.catchUp();
      // What is inside another parent of the same name is not deleted.
      if (reader.find(parent.kind, parent)?.createRevision !== parent.createRevision) return;
      await inParallel(childrenOf(parent).filter(isToDelete), CONCURRENCY, deleteChild);
      const left = childrenOf(parent);
      if (left.length === 0) {
        await erase(parent, unreadableInside(catalog, reader, parent));
        if (await writes.run(() => writer.removeEmptied(parent))) return;
      }
      // Objects that were created in the meantime are not marked yet: another round, up to a limit.
      else if (left.every(({ deletionTimestamp }) => deletionTimestamp !== undefined)) return;
    }
  }

  /**
   * Of a cluster, its namespaces, other objects outside of namespaces, and those inside a namespace that cannot be
   * decoded; of a namespace, its objects.
   */
  function childrenOf(parent: StoredObject): StoredObject[] {
    const inside = objectsInside(catalog, reader, parent);
    if (parent.kind !== catalog.clusters) return inside;
    const hasNamespace = ({ cluster, namespace }: StoredObject): boolean =>
      reader.find(catalog.namespaces, { cluster, namespace: '', name: namespace }) !== undefined;
    return inside.filter((child) => !child.kind.namespaced || !hasNamespace(child));
  }

  async function deleteChild(child: StoredObject): Promise<void> {
    const { kind, uid } = child;
    try {
      await writes.run(() => writer.remove(kind, child, { dryRun: false, preconditions: { uid } }));
    } catch (error) {
      // Another writer has deleted it, or has deleted and created it again: the next round finds it.
      if (!(error instanceof ApiError && [404, 409].includes(error.status.code))) throw error;
    }
    const left = isParent(kind) ? reader.find(kind, child) : undefined;
    if (left?.deletionTimestamp !== undefined) await finish(left);
  }

  /** Deletes objects inside a parent, regardless of finalizers, while it is this version. */
  const erase = (parent: Version, found: readonly Version[]): Promise<void> =>
    inParallel(found, CONCURRENCY, ({ key, createRevision }) => {
      const guards = [{ key: parent.key, expect: { createRevision: parent.createRevision } }];
      return write({ key, value: null, expect: { createRevision }, guards });
    });

  async function write(write: Write): Promise<WriteResult> {
    try {
      const result = await writes.run(() => store.write(write));
      await reader.sawOwnWrite(result);
      return result;
    } catch (error) {
      throw asApiError(error);
    }
  }

  return { finishDeletions, removeUnreadable, resume };
}

export type DeletionPropagation = ReturnType<typeof createDeletionPropagation>;

/** An object that is marked and has nothing inside it waits for its finalizers. */
const isToDelete = ({ kind, deletionTimestamp }: StoredObject): boolean =>
  isParent(kind) || deletionTimestamp === undefined;

import type { Catalog } from '../api/catalog.ts';
import { type Kind, kindPrefix, type ObjectKey, storageKey } from '../api/kind.ts';
import { ApiError, conflict } from '../api/status.ts';
import { inParallel, Slots } from '../lib/promises.ts';
import type { Work } from '../lib/work-queue.ts';
import type { Guard, Store, Write, WriteResult } from '../storage/contract.ts';
import type { Unreadable } from '../storage/watch-cache.ts';
import { findParents, isParent, objectsInside, prefixInside } from './parents.ts';
import type { ObjectReader } from './reader.ts';
import { asApiError } from './storage-errors.ts';
import { parseStorageKey, type StoredObject } from './stored-object.ts';
import type { ParentVersion, UnfinishedDeletions } from './unfinished-deletions.ts';
import type { ObjectWriter } from './writer.ts';

interface DeletionPropagationParts {
  readonly store: Store;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'remove' | 'removeEmptied'>;
  readonly catalog: Catalog;
  readonly unfinished: UnfinishedDeletions;
  readonly work: Work;
}

type Child = Pick<StoredObject, 'kind' | 'key' | 'cluster' | 'namespace' | 'name' | 'createRevision'>;

/** Writes of all deletions together: enough for the store to commit them at once, few enough not to delay others. */
const CONCURRENCY = 64;
const MAX_ROUNDS = 8;

/**
 * Deletes the children of a namespace or cluster that is being deleted, and then the parent itself. An object with
 * finalizers waits for them, and so do its parents.
 *
 * A create is guarded by the existence of its parents, so no child can appear after the parent is deleted. Those
 * created just before are swept afterwards. A deletion that fails or is interrupted is completed by the leader, or at
 * the next start: a parent that has a deletionTimestamp is deleted again, and orphans are swept.
 */
export function createDeletionPropagation(parts: DeletionPropagationParts) {
  const { store, reader, writer, catalog, unfinished, work } = parts;
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
    const { ok } = await write({ key: found.key, value: null, expect: { modRevision: found.modRevision } });
    if (!ok) throw conflict(kind, objectKey.name, 'the object has been modified; please try again');
    if (isParent(kind)) {
      const parent = { ...objectKey, kind, key: found.key, createRevision: found.createRevision };
      // Caches left it out, so no event says that it is deleted.
      unfinished.addDeleted(parent);
      await sweepDeleted(parent);
    }
    await finishDeletions(kind, objectKey);
  }

  /** Called at start: completes deletions that a crash interrupted. */
  async function resume(): Promise<void> {
    for (const kind of [catalog.namespaces, catalog.clusters]) {
      for (const entry of [...reader.cache(kind).current.scan(kindPrefix(kind))]) {
        if (entry.deletionTimestamp !== undefined) await finish(entry);
      }
    }
    await sweep(kindPrefix);
  }

  /** Called by the leader, again and again: completes deletions that failed, or that another replica left. */
  async function retry(): Promise<void> {
    const failures: unknown[] = [];
    for (const parent of unfinished.takeDue()) {
      if (work.isUsedUp) await work.turn();
      const current = reader.find(parent.kind, parent);
      try {
        if (current?.createRevision === parent.createRevision) await finish(current);
        else await sweepDeleted(parent);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Deletes a parent that is marked for deletion, as far as finalizers allow. Idempotent. */
  async function finish(parent: StoredObject): Promise<void> {
    await reader.catchUp();
    if (!(await deleteChildren(parent))) return;
    if (await writes.run(() => writer.removeEmptied(parent))) await sweepDeleted(parent);
  }

  async function sweepDeleted(parent: ParentVersion): Promise<void> {
    await sweepInside(parent);
    unfinished.finish(parent);
  }

  /** True when no child is left, false when one waits for its finalizers. */
  async function deleteChildren(parent: StoredObject): Promise<boolean> {
    const children = (): StoredObject[] => {
      const current = reader.find(parent.kind, parent);
      // What is inside another parent of the same name is not deleted.
      return current?.createRevision === parent.createRevision ? childrenOf(parent) : [];
    };
    for (let round = 1; ; round++) {
      await inParallel(children().filter(isToDelete), CONCURRENCY, deleteChild);
      const left = children();
      if (left.length === 0) return true;
      // Children created in the meantime are not marked yet: another round, up to a limit.
      if (round >= MAX_ROUNDS || left.every(({ deletionTimestamp }) => deletionTimestamp !== undefined)) return false;
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

  function sweepInside(parent: ObjectKey & { readonly kind: Kind }): Promise<void> {
    return sweep((kind) => prefixInside(kind, parent));
  }

  /** Deletes the orphans under these prefixes, regardless of finalizers. */
  async function sweep(prefixOf: (kind: Kind) => string): Promise<void> {
    const kinds = catalog.kinds.filter(({ inCluster }) => inCluster);
    // Namespaces first: objects inside one are orphans only after it is deleted.
    for (const kind of [...kinds.filter(({ namespaced }) => !namespaced), ...kinds.filter((one) => one.namespaced)]) {
      const cache = reader.cache(kind);
      const unreadable = cache.unreadableUnder(prefixOf(kind)).flatMap((found) => withObjectKey(kind, found));
      const orphans = [...cache.current.scan(prefixOf(kind)), ...unreadable].flatMap((entry) => orphanOf(entry) ?? []);
      await inParallel(orphans, CONCURRENCY, ({ key, createRevision, guards }) =>
        write({ key, value: null, expect: { createRevision }, guards }),
      );
    }
  }

  /**
   * Undefined if the parents of the object exist. One that is younger than the object is another one of the same name.
   * A missing one must be missing in the store, too: caches leave out what they cannot decode.
   */
  function orphanOf(entry: Child) {
    const { kind, key, createRevision } = entry;
    const parents = findParents(catalog, reader, kind, entry);
    const missing = parents.filter((parent) => 'missing' in parent);
    const isYounger = parents.some((parent) => !('missing' in parent) && parent.createRevision > createRevision);
    if (missing.length === 0 && !isYounger) return undefined;
    return { key, createRevision, guards: missing.map(isAbsent) };
  }

  async function write(write: Write): Promise<WriteResult> {
    try {
      const result = await writes.run(() => store.write(write));
      await reader.sawOwnWrite(result);
      return result;
    } catch (error) {
      throw asApiError(error);
    }
  }

  return { finishDeletions, removeUnreadable, resume, retry };
}

export type DeletionPropagation = ReturnType<typeof createDeletionPropagation>;

/** An object that is marked and has nothing inside it waits for its finalizers. */
const isToDelete = ({ kind, deletionTimestamp }: StoredObject): boolean =>
  isParent(kind) || deletionTimestamp === undefined;

const isAbsent = ({ missing, objectKey }: { missing: Kind; objectKey: ObjectKey }): Guard => ({
  key: storageKey(missing, objectKey),
  expect: { absent: true },
});

/** None for a key that is not of the kind's form: no parent can be found for it. */
function withObjectKey(kind: Kind, { key, createRevision }: Unreadable): Child[] {
  try {
    return [{ kind, key, createRevision, ...parseStorageKey(kind, key) }];
  } catch {
    return [];
  }
}

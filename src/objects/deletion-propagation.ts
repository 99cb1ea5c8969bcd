import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { kindPrefix, type ObjectKey } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import { inParallel } from '../lib/in-parallel.ts';
import type { Store, Write, WriteResult } from '../storage/contract.ts';
import { findOwners } from './owners.ts';
import type { ObjectReader } from './reader.ts';
import { asApiError } from './storage-errors.ts';
import type { StoredObject } from './stored-object.ts';
import { hasFinalizers, type ObjectWriter, ownsOthers } from './writer.ts';

export interface DeletionPropagationOptions {
  readonly store: Store;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'remove'>;
  readonly catalog: Catalog;
}

/** Concurrent deletions: enough for the store to commit them together, few enough to leave room for requests. */
const CONCURRENCY = 64;
const MAX_ROUNDS = 8;

/**
 * Deletes the dependents of a namespace or cluster that is being deleted, and then the owner itself. An object with
 * finalizers waits for them, and so do its owners.
 *
 * A create is guarded by the existence of its owners, so no dependent can appear after the owner is deleted. Those
 * created just before are swept afterwards. A crash in between is completed at the next start: an owner that has a
 * deletionTimestamp is deleted again, and orphans are swept.
 */
export class DeletionPropagation {
  readonly #options: DeletionPropagationOptions;

  constructor(options: DeletionPropagationOptions) {
    this.#options = options;
  }

  /** Called after a deletion or an update: deletes owners that waited for it, from the inside out. */
  async settle(kind: Kind, objectKey: ObjectKey): Promise<void> {
    const { catalog, reader } = this.#options;
    const owners = findOwners(catalog, reader, kind, objectKey).toReversed();
    for (const entry of [...(ownsOthers(kind) ? [reader.find(kind, objectKey)] : []), ...owners]) {
      if (entry !== undefined && !('missing' in entry) && entry.deletionTimestamp !== undefined) {
        await this.#finish(entry);
      }
    }
  }

  /** Called at start: completes deletions that a crash interrupted. */
  async resume(): Promise<void> {
    const { catalog, reader } = this.#options;
    for (const kind of [catalog.namespaces, catalog.clusters]) {
      for (const entry of [...reader.cache(kind).current.scan(kindPrefix(kind))]) {
        if (entry.deletionTimestamp !== undefined) await this.#finish(entry);
      }
    }
    await this.#sweep(kindPrefix);
  }

  /** Deletes an owner that is marked for deletion, as far as finalizers allow. Idempotent. */
  async #finish(owner: StoredObject): Promise<void> {
    const { reader } = this.#options;
    await reader.catchUp();
    if (!(await this.#deleteDependents(owner))) return;
    // A write in the meantime cannot undo the deletion, so the newest version is deleted.
    for (;;) {
      await reader.catchUp();
      const current = reader.find(owner.kind, owner);
      if (current?.createRevision !== owner.createRevision) break;
      if (hasFinalizers(current.object())) return;
      await this.#write({ key: current.key, value: null, expect: { modRevision: current.revision } });
    }
    const within = owner.kind.inCluster ? `${owner.cluster}/${owner.name}/` : `${owner.name}/`;
    await this.#sweep((kind) => `${kindPrefix(kind)}${within}`);
  }

  /** True when no dependent is left, false when one waits for its finalizers. */
  async #deleteDependents(owner: StoredObject): Promise<boolean> {
    for (let round = 1; ; round++) {
      await inParallel(this.#dependents(owner), CONCURRENCY, (dependent) => this.#delete(dependent));
      const left = this.#dependents(owner);
      if (left.length === 0) return true;
      // Dependents created in the meantime are not marked yet: another round, up to a limit.
      if (round >= MAX_ROUNDS || left.every(({ deletionTimestamp }) => deletionTimestamp !== undefined)) return false;
    }
  }

  /** Of a cluster, its namespaces and other objects outside of namespaces; of a namespace, its objects. */
  #dependents({ kind, cluster, name }: StoredObject): StoredObject[] {
    const { catalog, reader } = this.#options;
    const ofCluster = kind === catalog.clusters;
    const within = ofCluster ? `${name}/` : `${cluster}/${name}/`;
    return catalog.kinds
      .filter((dependent) => dependent.inCluster && dependent.namespaced !== ofCluster)
      .flatMap((dependent) => [...reader.cache(dependent).current.scan(`${kindPrefix(dependent)}${within}`)]);
  }

  async #delete(dependent: StoredObject): Promise<void> {
    const { kind, uid } = dependent;
    try {
      await this.#options.writer.remove(kind, dependent, { dryRun: false, preconditions: { uid } });
    } catch (error) {
      // Another writer has deleted it, or has deleted and created it again: the next round finds it.
      if (!(error instanceof ApiError && [404, 409].includes(error.status.code))) throw error;
    }
    const left = ownsOthers(kind) ? this.#options.reader.find(kind, dependent) : undefined;
    if (left?.deletionTimestamp !== undefined) await this.#finish(left);
  }

  /** Deletes the orphans under these prefixes, regardless of finalizers. */
  async #sweep(prefixOf: (kind: Kind) => string): Promise<void> {
    const { catalog, reader } = this.#options;
    for (const kind of catalog.kinds.filter(({ inCluster }) => inCluster)) {
      const orphans = [...reader.cache(kind).current.scan(prefixOf(kind))].filter((entry) => this.#isOrphan(entry));
      await inParallel(orphans, CONCURRENCY, ({ key, createRevision }) =>
        this.#write({ key, value: null, expect: { createRevision } }),
      );
    }
  }

  /** An owner that is younger than the object is another one of the same name. */
  #isOrphan(entry: StoredObject): boolean {
    const { catalog, reader } = this.#options;
    return findOwners(catalog, reader, entry.kind, entry).some(
      (owner) => 'missing' in owner || owner.createRevision > entry.createRevision,
    );
  }

  async #write(write: Write): Promise<WriteResult> {
    try {
      const result = await this.#options.store.write(write);
      await this.#options.reader.sawOwnWrite(result);
      return result;
    } catch (error) {
      throw asApiError(error);
    }
  }
}

import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { kindPrefix, type ObjectKey } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import { inParallel } from '../lib/in-parallel.ts';
import type { Guard, Store, Write, WriteResult } from '../storage/contract.ts';
import { findParents } from './parents.ts';
import type { ObjectReader } from './reader.ts';
import { asApiError } from './storage-errors.ts';
import type { StoredObject } from './stored-object.ts';
import { hasFinalizers, isParent, type ObjectWriter } from './writer.ts';

interface DeletionPropagationOptions {
  readonly store: Store;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'remove'>;
  readonly catalog: Catalog;
}

interface Orphan {
  readonly key: string;
  readonly createRevision: number;
  readonly guards: readonly Guard[];
}

/** Concurrent deletions: enough for the store to commit them together, few enough to leave room for requests. */
const CONCURRENCY = 64;
const MAX_ROUNDS = 8;

/**
 * Deletes the children of a namespace or cluster that is being deleted, and then the parent itself. An object with
 * finalizers waits for them, and so do its parents.
 *
 * A create is guarded by the existence of its parents, so no child can appear after the parent is deleted. Those
 * created just before are swept afterwards. A crash in between is completed at the next start: a parent that has a
 * deletionTimestamp is deleted again, and orphans are swept.
 */
export class DeletionPropagation {
  readonly #options: DeletionPropagationOptions;

  constructor(options: DeletionPropagationOptions) {
    this.#options = options;
  }

  /** Called after a deletion or an update: deletes parents that waited for it, from the inside out. */
  async settle(kind: Kind, objectKey: ObjectKey): Promise<void> {
    const { catalog, reader } = this.#options;
    const parents = findParents(catalog, reader, kind, objectKey).toReversed();
    for (const entry of [...(isParent(kind) ? [reader.find(kind, objectKey)] : []), ...parents]) {
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

  /** Deletes a parent that is marked for deletion, as far as finalizers allow. Idempotent. */
  async #finish(parent: StoredObject): Promise<void> {
    const { reader } = this.#options;
    await reader.catchUp();
    if (!(await this.#deleteChildren(parent))) return;
    // A write in the meantime cannot undo the deletion, so the newest version is deleted.
    for (;;) {
      await reader.catchUp();
      const current = reader.find(parent.kind, parent);
      if (current?.createRevision !== parent.createRevision) break;
      if (hasFinalizers(current.object())) return;
      await this.#write({ key: current.key, value: null, expect: { modRevision: current.revision } });
    }
    const within = parent.kind.inCluster ? `${parent.cluster}/${parent.name}/` : `${parent.name}/`;
    await this.#sweep((kind) => `${kindPrefix(kind)}${within}`);
  }

  /** True when no child is left, false when one waits for its finalizers. */
  async #deleteChildren(parent: StoredObject): Promise<boolean> {
    for (let round = 1; ; round++) {
      await inParallel(this.#children(parent), CONCURRENCY, (child) => this.#delete(child));
      const left = this.#children(parent);
      if (left.length === 0) return true;
      // Children created in the meantime are not marked yet: another round, up to a limit.
      if (round >= MAX_ROUNDS || left.every(({ deletionTimestamp }) => deletionTimestamp !== undefined)) return false;
    }
  }

  /** Of a cluster, its namespaces and other objects outside of namespaces; of a namespace, its objects. */
  #children({ kind, cluster, name }: StoredObject): StoredObject[] {
    const { catalog, reader } = this.#options;
    const ofCluster = kind === catalog.clusters;
    const within = ofCluster ? `${name}/` : `${cluster}/${name}/`;
    return catalog.kinds
      .filter((child) => child.inCluster && child.namespaced !== ofCluster)
      .flatMap((child) => [...reader.cache(child).current.scan(`${kindPrefix(child)}${within}`)]);
  }

  async #delete(child: StoredObject): Promise<void> {
    const { kind, uid } = child;
    try {
      await this.#options.writer.remove(kind, child, { dryRun: false, preconditions: { uid } });
    } catch (error) {
      // Another writer has deleted it, or has deleted and created it again: the next round finds it.
      if (!(error instanceof ApiError && [404, 409].includes(error.status.code))) throw error;
    }
    const left = isParent(kind) ? this.#options.reader.find(kind, child) : undefined;
    if (left?.deletionTimestamp !== undefined) await this.#finish(left);
  }

  /** Deletes the orphans under these prefixes, regardless of finalizers. */
  async #sweep(prefixOf: (kind: Kind) => string): Promise<void> {
    const { catalog, reader } = this.#options;
    for (const kind of catalog.kinds.filter(({ inCluster }) => inCluster)) {
      const orphans = [...reader.cache(kind).current.scan(prefixOf(kind))].flatMap(
        (entry) => this.#orphanOf(entry) ?? [],
      );
      await inParallel(orphans, CONCURRENCY, ({ key, createRevision, guards }) =>
        this.#write({ key, value: null, expect: { createRevision }, guards }),
      );
    }
  }

  /**
   * Undefined if the parents of the object exist. One that is younger than the object is another one of the same name.
   * A missing one must be missing in the store, too: caches leave out what they cannot decode.
   */
  #orphanOf(entry: StoredObject): Orphan | undefined {
    const { catalog, reader } = this.#options;
    const { kind, key, createRevision } = entry;
    const parents = findParents(catalog, reader, kind, entry);
    const missing = parents.filter((parent) => 'missing' in parent);
    const isYounger = parents.some((parent) => !('missing' in parent) && parent.createRevision > createRevision);
    if (missing.length === 0 && !isYounger) return undefined;
    return { key, createRevision, guards: missing.map((parent) => ({ key: parent.key, expect: { absent: true } })) };
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

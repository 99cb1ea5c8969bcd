import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { kindPrefix, type ObjectKey } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import type { Store, Write, WriteResult } from '../storage/contract.ts';
import { findParents } from './parents.ts';
import type { ObjectReader } from './reader.ts';
import { asApiError } from './storage-errors.ts';
import type { StoredObject } from './stored-object.ts';
import { hasFinalizers, holdsOthers, type ObjectWriter } from './writer.ts';

export interface DeletionPropagationOptions {
  readonly store: Store;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'remove'>;
  readonly catalog: Catalog;
}

/** Deletions under way at once: enough for the store to commit them together, few enough to leave room. */
const AT_ONCE = 64;
const MAX_ROUNDS = 8;

/**
 * Removes what is inside a namespace or a cluster that is being deleted, and then the thing itself. What
 * has finalizers waits for them, and with it what it lives in.
 *
 * Creation is guarded by the existence of its parents, so after the parent's own deletion nothing new can
 * appear under it; what slipped in before is swept afterwards. A crash in between is finished at the next
 * start: a parent that still has a deletionTimestamp is deleted again, an orphan is swept.
 */
export class DeletionPropagation {
  readonly #options: DeletionPropagationOptions;

  constructor(options: DeletionPropagationOptions) {
    this.#options = options;
  }

  /** After a deletion or an update: finishes what waited for it, from the inside out. */
  async settle(kind: Kind, objectKey: ObjectKey): Promise<void> {
    const { catalog, reader } = this.#options;
    const parents = findParents(catalog, reader, kind, objectKey).toReversed();
    for (const entry of [...(holdsOthers(kind) ? [reader.find(kind, objectKey)] : []), ...parents]) {
      if (entry !== undefined && !('missing' in entry) && entry.deletionTimestamp !== undefined) {
        await this.#finish(entry);
      }
    }
  }

  /** At start: what a crash left half done. */
  async resume(): Promise<void> {
    const { catalog, reader } = this.#options;
    for (const kind of [catalog.namespaces, catalog.clusters]) {
      for (const entry of [...reader.cache(kind).current.scan(kindPrefix(kind))]) {
        if (entry.deletionTimestamp !== undefined) await this.#finish(entry);
      }
    }
    await this.#sweep(kindPrefix);
  }

  /** Takes an object that is marked for deletion as far as finalizers allow. Safe to call more than once. */
  async #finish(parent: StoredObject): Promise<void> {
    const { reader } = this.#options;
    await reader.catchUp();
    if (!(await this.#empty(parent))) return;
    // Whoever wrote to it meanwhile did not take back the deletion, so the newest version goes.
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

  /** True when nothing is left inside, false when something waits for its finalizers. */
  async #empty(parent: StoredObject): Promise<boolean> {
    for (let round = 1; ; round++) {
      await inBatches(this.#inside(parent), (child) => this.#end(child));
      const left = this.#inside(parent);
      if (left.length === 0) return true;
      // What slipped in meanwhile is not marked yet: once more, but not for ever.
      if (round >= MAX_ROUNDS || left.every(({ deletionTimestamp }) => deletionTimestamp !== undefined)) return false;
    }
  }

  /** What is directly inside. */
  #inside({ kind, cluster, name }: StoredObject): StoredObject[] {
    const { catalog, reader } = this.#options;
    const ofCluster = kind === catalog.clusters;
    const within = ofCluster ? `${name}/` : `${cluster}/${name}/`;
    return catalog.kinds
      .filter((child) => child.inCluster && child.namespaced !== ofCluster)
      .flatMap((child) => [...reader.cache(child).current.scan(`${kindPrefix(child)}${within}`)]);
  }

  async #end(child: StoredObject): Promise<void> {
    try {
      await this.#options.writer.remove(child.kind, child, { dryRun: false, preconditions: { uid: child.uid } });
    } catch (error) {
      // Someone else deleted it first, which is what was wanted; or made it anew, and that is for the next round.
      if (!(error instanceof ApiError && [404, 409].includes(error.status.code))) throw error;
    }
    const left = holdsOthers(child.kind) ? this.#options.reader.find(child.kind, child) : undefined;
    if (left?.deletionTimestamp !== undefined) await this.#finish(left);
  }

  /** Deletes, whatever its finalizers, what lies under such a prefix and belongs to nothing that exists. */
  async #sweep(prefixOf: (kind: Kind) => string): Promise<void> {
    const { catalog, reader } = this.#options;
    for (const kind of catalog.kinds.filter(({ inCluster }) => inCluster)) {
      const orphans = [...reader.cache(kind).current.scan(prefixOf(kind))].filter((entry) => this.#isOrphan(entry));
      await inBatches(orphans, ({ key, createRevision }) =>
        this.#write({ key, value: null, expect: { createRevision } }),
      );
    }
  }

  /** A parent that is younger than the object is not its parent, but a namesake made anew. */
  #isOrphan(entry: StoredObject): boolean {
    const { catalog, reader } = this.#options;
    return findParents(catalog, reader, entry.kind, entry).some(
      (parent) => 'missing' in parent || parent.createRevision > entry.createRevision,
    );
  }

  async #write(write: Write): Promise<WriteResult> {
    try {
      const result = await this.#options.store.write(write);
      await this.#options.reader.sawOwnWrite(result.revision);
      return result;
    } catch (error) {
      throw asApiError(error);
    }
  }
}

async function inBatches<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < items.length; start += AT_ONCE) {
    await Promise.all(items.slice(start, start + AT_ONCE).map(act));
  }
}

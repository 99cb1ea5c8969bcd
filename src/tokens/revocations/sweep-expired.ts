import type { Kind } from '../../api/kind.ts';
import { kindPrefix } from '../../api/object-key.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { Guard, Store } from '../../storage/contract.ts';

export interface SweepParts {
  readonly kinds: readonly Kind[];
  readonly reader: Pick<ObjectReader, 'cache' | 'ready'>;
  readonly store: Pick<Store, 'write'>;
  /** Objects to remove before they expire. */
  readonly isObsolete: (entry: StoredObject) => boolean;
  /** Conditions of the writes: that this replica leads. Throws when it does not. */
  readonly guards?: () => readonly Guard[];
  readonly now: () => number;
}

/** Of one kind, in one call: scanning this many takes about a millisecond. */
const MAX_SCANNED = 5_000;
const MAX_REMOVED = 64;

/**
 * Removes expired objects, some of them at each call, so that no call takes long. Of several replicas that remove one
 * object, one succeeds, and the others have nothing to do.
 */
export function createSweep(parts: SweepParts): () => Promise<void> {
  const { kinds, reader, store, isObsolete, guards = () => [], now } = parts;
  /** The last key scanned of each kind, where the next call continues. */
  const positions = new Map<Kind, string>();

  function next(kind: Kind): StoredObject[] {
    const found: StoredObject[] = [];
    let scanned = 0;
    for (const entry of reader.cache(kind).current.scan(kindPrefix(kind), positions.get(kind))) {
      if (++scanned > MAX_SCANNED || found.length >= MAX_REMOVED) return found;
      positions.set(kind, entry.key);
      if (entry.isExpired(now()) || isObsolete(entry)) found.push(entry);
    }
    positions.delete(kind);
    return found;
  }

  return async () => {
    if (!reader.ready) return;
    for (const kind of kinds) {
      // Taken before the scan, so that a write fails unless this replica led all the while.
      const taken = guards();
      await Promise.all(
        next(kind).map(({ key, revision }) =>
          store.write({ key, value: null, expect: { modRevision: revision }, guards: taken }),
        ),
      );
    }
  };
}

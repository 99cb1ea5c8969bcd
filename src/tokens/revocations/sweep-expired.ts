import type { Kind } from '../../api/kind.ts';
import { kindPrefix } from '../../api/object-key.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { Guard, Store } from '../../storage/contract.ts';

export interface SweepParts {
  readonly kinds: readonly Kind[];
  readonly reader: Pick<ObjectReader, 'cache' | 'ready'>;
  readonly store: Pick<Store, 'write'>;
  /** Objects that are to go although their time has not come. */
  readonly isDone: (entry: StoredObject) => boolean;
  /** What must be true of others while it is done: that this replica leads. Throws when it is not. */
  readonly guards?: () => readonly Guard[];
  readonly now: () => number;
}

/** Of one kind, in one go: looking at so many takes about a millisecond. */
const LOOKED_AT = 5_000;
const REMOVED = 64;

/**
 * Removes objects that have ended, a part of them at each call: however many there are, none of the calls takes
 * long. Of several replicas that try to remove one object, the store lets one, and the others do not mind.
 */
export function createSweep({ kinds, reader, store, isDone, guards = () => [], now }: SweepParts): () => Promise<void> {
  /** Where the look at each kind goes on. */
  const places = new Map<Kind, string>();

  function next(kind: Kind): StoredObject[] {
    const found: StoredObject[] = [];
    let looked = 0;
    for (const entry of reader.cache(kind).current.scan(kindPrefix(kind), places.get(kind))) {
      if (++looked > LOOKED_AT || found.length >= REMOVED) return found;
      places.set(kind, entry.key);
      if (entry.isExpired(now()) || isDone(entry)) found.push(entry);
    }
    places.delete(kind);
    return found;
  }

  return async () => {
    if (!reader.ready) return;
    for (const kind of kinds) {
      // Before the look: what it finds is what the leader of that moment finds.
      const demands = guards();
      await Promise.all(
        next(kind).map(({ key, revision }) =>
          store.write({ key, value: null, expect: { modRevision: revision }, guards: demands }),
        ),
      );
    }
  };
}

import type { Catalog } from '../api/catalog.ts';
import { fleetKey } from '../api/kind.ts';
import { END_FIELD } from '../api/kinds/fleet-role-binding.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { createObjectSweep, type SweepTimer, startSweep } from '../objects/sweep-objects.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import { type Leadership, leaderGuards } from '../storage/contract.ts';

interface BindingExpiryParts extends SweepTimer {
  readonly catalog: Pick<Catalog, 'fleetRoleBindings'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'ready'>;
  readonly writer: Pick<ObjectWriter, 'remove'>;
  /** The leader deletes bindings, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  /** See ClockGuard. */
  readonly removalTime: () => number;
}

const CHECK_MS = 250;

/**
 * Deletes bindings that have ended, wherever they hold. A decision asks for the time, so they grant nothing before
 * that. Open watches follow the event of the deletion.
 */
export function startBindingExpiry(parts: BindingExpiryParts): () => Promise<void> {
  const { catalog, writer, leadership } = parts;
  const kind = catalog.fleetRoleBindings;
  const sweep = createObjectSweep({
    ...parts,
    kind,
    concerns: ends,
    // A binding whose end cannot be read is kept, so that an operator can correct it.
    stepFor: (binding, time) => (Date.parse(binding.field(END_FIELD)) <= time ? 'remove' : undefined),
    perform: async ({ name, revision }) => {
      // One that was extended meanwhile is kept.
      const preconditions = { resourceVersion: String(revision) };
      const guards = leaderGuards(leadership);
      await writer.remove(kind, fleetKey(name), { dryRun: false, preconditions, guards });
    },
  });
  return startSweep(parts, sweep, 'bindings that have ended could not be deleted yet', CHECK_MS);
}

/** A finalizer may keep one that is deleted long after its end. */
const ends = (binding: StoredObject): boolean =>
  binding.field(END_FIELD) !== '' && binding.deletionTimestamp === undefined;

import type { Catalog } from '../api/catalog.ts';
import { END_FIELD } from '../api/kinds/fleet-role-binding.ts';
import { fleetKey, kindPrefix } from '../api/object-key.ts';
import { createFailureReports } from '../objects/failure-reports.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { type SweepTimer, startSweep } from '../objects/start-sweep.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import { type Leadership, leaderGuards } from '../storage/leadership.ts';

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
  const reportFailure = createFailureReports(parts.logger);
  const onFailure = 'bindings that have ended could not be deleted yet';
  return startSweep(parts, createSweep(parts, reportFailure), onFailure, CHECK_MS);
}

function createSweep(
  { catalog, reader, writer, leadership, removalTime }: BindingExpiryParts,
  reportFailure: (binding: StoredObject, error: unknown) => void,
): () => Promise<void> {
  const kind = catalog.fleetRoleBindings;
  let seen: number | undefined;
  let ending: StoredObject[] = [];
  return async () => {
    if (!reader.ready) return;
    const time = removalTime();
    const { current, lastEventRevision } = reader.cache(kind);
    // Few bindings end, and most rounds follow no change.
    if (lastEventRevision !== seen) ending = [...current.scan(kindPrefix(kind))].filter(ends);
    seen = lastEventRevision;
    for (const binding of ending) {
      // A binding whose end cannot be read is kept, so that an operator can correct it.
      if (!(Date.parse(binding.field(END_FIELD)) <= time)) continue;
      try {
        // One that was extended meanwhile is kept.
        const preconditions = { resourceVersion: String(binding.revision) };
        const guards = leaderGuards(leadership);
        await writer.remove(kind, fleetKey(binding.name), { dryRun: false, preconditions, guards });
      } catch (error) {
        // The other bindings do not wait for this one.
        reportFailure(binding, error);
      }
    }
  };
}

/** A finalizer may keep one that is deleted long after its end. */
const ends = (binding: StoredObject): boolean =>
  binding.field(END_FIELD) !== '' && binding.deletionTimestamp === undefined;

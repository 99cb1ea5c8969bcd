import type { Catalog } from '../api/catalog.ts';
import { fleetKey } from '../api/object-key.ts';
import { createFailureReports } from '../objects/failure-reports.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { type SweepTimer, startSweep } from '../objects/start-sweep.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import { type Leadership, leaderGuards } from '../storage/leadership.ts';
import { readBinding } from './policy/binding-facts.ts';
import type { Policy } from './policy/policy.ts';

interface BindingExpiryParts extends SweepTimer {
  readonly policy: Pick<Policy, 'endingBindings'>;
  readonly kinds: Pick<Catalog, 'fleetRoleBindings'>;
  readonly reader: Pick<ObjectReader, 'find' | 'ready'>;
  readonly writer: Pick<ObjectWriter, 'remove'>;
  /** The leader deletes bindings, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  /** See ClockGuard. */
  readonly removalTime: () => number;
}

const CHECK_MS = 250;

/**
 * Deletes bindings that have ended. A decision asks for the time, so they grant nothing before that. Open watches
 * follow the event of the deletion.
 */
export function startBindingExpiry(parts: BindingExpiryParts): () => Promise<void> {
  const reportFailure = createFailureReports(parts.logger);
  const onFailure = 'bindings that have ended could not be deleted yet';
  return startSweep(parts, () => sweep(parts, reportFailure), onFailure, CHECK_MS);
}

/** The precondition protects a binding that was extended meanwhile. */
async function sweep(
  { policy, kinds, reader, writer, leadership, removalTime }: BindingExpiryParts,
  reportFailure: (binding: StoredObject, error: unknown) => void,
): Promise<void> {
  if (!reader.ready) return;
  const time = removalTime();
  // A binding whose end cannot be read is kept, so that an operator can correct it.
  const hasEnded = (end: number): boolean => Number.isFinite(end) && end <= time;
  for (const { name } of [...policy.endingBindings()].filter(({ expiresAt }) => hasEnded(expiresAt))) {
    const found = reader.find(kinds.fleetRoleBindings, fleetKey(name));
    if (found === undefined || !hasEnded(readBinding(found.object(), '', name).expiresAt)) continue;
    try {
      const preconditions = { resourceVersion: String(found.revision) };
      const guards = leaderGuards(leadership);
      await writer.remove(kinds.fleetRoleBindings, fleetKey(name), { dryRun: false, preconditions, guards });
    } catch (error) {
      // The other bindings do not wait for this one.
      reportFailure(found, error);
    }
  }
}

import type { User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { PASS_EXPIRY_FIELD, PASS_FINISHED_FIELD } from '../../api/kinds/pass.ts';
import { ENDED, isLivePhase, passAccount, passSpec, passStatus, REVOKED } from '../../api/kinds/pass-spec.ts';
import { fleetKey } from '../../api/object-key.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { type SweepTimer, startSweep } from '../../objects/start-sweep.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Logger } from '../../observability/logger.ts';
import { type Leadership, leaderGuards } from '../../storage/leadership.ts';
import type { Revocations } from '../../tokens/revocations/revocations.ts';
import { createObjectSweep, hasPassed } from '../sweep-objects.ts';
import { ACCOUNT_DELETED, hasBindingChanged, isAccountDeleted } from './pass-parts.ts';
import { endedStatus, revokeTokens } from './pass-verbs.ts';

interface PassSweepParts {
  readonly catalog: Catalog;
  readonly reader: Pick<ObjectReader, 'cache' | 'find' | 'ready'>;
  /** Records each change in the audit log. */
  readonly writer: Pick<ObjectWriter, 'update' | 'remove'>;
  readonly revocations: Revocations;
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  /** See ClockGuard: epoch milliseconds, and -Infinity while nothing may be ended by the clock. */
  readonly removalTime: () => number;
  /** Epoch milliseconds, for timestamps. */
  readonly now: () => number;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Passes that have ended are listed for that long. */
const RETENTION_MS = 3_600_000;
const SWEEPER: User = { name: 'system:clusterpass:passes', uid: '', groups: [], extra: {} };

type Step = 'remove' | 'complete-revocation' | { readonly reason: string; readonly message: string };

function stepFor(parts: PassSweepParts, entry: StoredObject, time: number): Step | undefined {
  const { catalog, reader } = parts;
  const phase = entry.field('status.phase');
  if (!isLivePhase(phase)) {
    const { conditions = [] } = passStatus(entry.object());
    const last = conditions.at(-1);
    // A deletion that a crash has interrupted. The reason of a denial is the approver's.
    if (last?.type === ENDED && last.reason === REVOKED) return 'complete-revocation';
    return hasPassed(entry.field(PASS_FINISHED_FIELD), time - RETENTION_MS) ? 'remove' : undefined;
  }
  const isPending = phase === 'Pending';
  if (hasPassed(entry.field(PASS_EXPIRY_FIELD), time)) {
    return isPending
      ? { reason: 'NotDecided', message: 'it was not decided in time' }
      : { reason: 'TimeOver', message: 'it has expired' };
  }
  const status = passStatus(entry.object());
  const cluster = reader.find(catalog.clusters, fleetKey(entry.field('spec.cluster')));
  // Another cluster may have the name by now.
  if (cluster?.uid !== status.clusterUID) return { reason: 'ClusterDeleted', message: 'the cluster was deleted' };
  if (isAccountDeleted(parts, passAccount(passSpec(entry.object())), status)) {
    return { reason: 'AccountDeleted', message: ACCOUNT_DELETED };
  }
  return isPending && hasBindingChanged(parts, status)
    ? { reason: 'BindingChanged', message: 'the binding that allows it has changed: ask for another pass' }
    : undefined;
}

/** Ends expired passes, completes deletions that a crash interrupted, and removes ended passes. */
export function createPassSweep(parts: PassSweepParts): () => Promise<void> {
  const { catalog, writer, leadership } = parts;
  const kind = catalog.passes;

  async function perform(entry: StoredObject, step: Step, now: number): Promise<void> {
    const guards = leaderGuards(leadership);
    const key = fleetKey(entry.name);
    // Keeps a pass that was decided meanwhile.
    const preconditions = { resourceVersion: String(entry.revision) };
    if (step === 'remove' || step === 'complete-revocation') {
      if (step !== 'remove') await revokeTokens(parts, entry.object(), SWEEPER);
      await writer.remove(kind, key, { dryRun: false, preconditions, guards });
      return;
    }
    const condition = { type: ENDED, status: 'True', ...step, lastTransitionTime: toTimestamp(now) };
    await writer.update(kind, key, (current) => ({ ...current, status: endedStatus(passStatus(current), condition) }), {
      dryRun: false,
      part: 'status',
      preconditions,
      guards,
    });
  }

  return createObjectSweep({ ...parts, kind, stepFor: (entry, time) => stepFor(parts, entry, time), perform });
}

export const startPassSweep = (parts: PassSweepParts & SweepTimer): (() => Promise<void>) =>
  startSweep(parts, createPassSweep(parts), 'passes could not be swept yet');

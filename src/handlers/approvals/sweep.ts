import type { User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { fleetKey } from '../../api/kind.ts';
import { CLUSTER_UID_FIELD, EXPIRY_FIELD, FINISHED_FIELD } from '../../api/kinds/approval-kind.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { createObjectSweep, hasPassed, type SweepTimer, startSweep } from '../../objects/sweep-objects.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Logger } from '../../observability/logger.ts';
import { type Leadership, leaderGuards } from '../../storage/contract.ts';
import { isOpen } from '../stored-quota.ts';
import { type Ending, type EndReason, withEnd } from './approvable.ts';

interface ApprovalSweepParts {
  readonly catalog: Pick<Catalog, 'clusters'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find' | 'ready'>;
  /** Records each change in the audit log. */
  readonly writer: Pick<ObjectWriter, 'update' | 'remove'>;
  /** The leader sweeps, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  /** See ClockGuard: epoch milliseconds, and -Infinity while nothing may be ended by the clock. */
  readonly removalTime: () => number;
  /** Epoch milliseconds, for timestamps. */
  readonly now: () => number;
  readonly logger: Pick<Logger, 'warn'>;
}

/** For so long at least the requester can read why. */
const DENIED_MS = 24 * 3_600_000;

type Step = 'revoke' | 'complete-deletion' | 'remove' | EndReason;

function stepFor({ catalog, reader }: ApprovalSweepParts, row: Ending, entry: StoredObject, time: number) {
  if (!isOpen(entry)) {
    const leftover = row.leftover(entry);
    if (leftover !== undefined) return leftover === 'grant' ? 'revoke' : 'complete-deletion';
    const isDenied = entry.field('status.phase') === 'Denied';
    const keptMs = isDenied ? Math.max(row.retentionMs, DENIED_MS) : row.retentionMs;
    return hasPassed(entry.field(FINISHED_FIELD), time - keptMs) ? 'remove' : undefined;
  }
  const isPending = entry.field('status.phase') === 'Pending';
  if (hasPassed(entry.field(EXPIRY_FIELD), time)) {
    return isPending
      ? { reason: 'NotDecided', message: 'it was not decided in time' }
      : { reason: 'TimeOver', message: row.timeOver };
  }
  const uid = entry.field(CLUSTER_UID_FIELD);
  const isBound = uid !== '' || !isPending;
  // Another cluster can have the name by now.
  if (isBound && reader.find(catalog.clusters, fleetKey(entry.field('spec.cluster')))?.uid !== uid) {
    return { reason: 'ClusterDeleted', message: 'the cluster was deleted' };
  }
  return row.endsEarly(entry, time);
}

/**
 * Ends what has expired or lost its ground, completes what a crash interrupted, and removes finished objects. Access
 * itself expires without it: an expired binding grants nothing, and an expired token is refused.
 */
export function createApprovalSweep(parts: ApprovalSweepParts, row: Ending): () => Promise<void> {
  const { writer, leadership } = parts;
  const { kind } = row;
  const sweeper: User = { name: `system:clusterpass:${kind.resource}`, uid: '', groups: [], extra: {} };

  async function perform(entry: StoredObject, step: Step): Promise<void> {
    const guards = leaderGuards(leadership);
    const key = fleetKey(entry.name);
    // Keeps an object that was decided meanwhile.
    const writing = { dryRun: false, preconditions: { resourceVersion: String(entry.revision) }, guards };
    if (step === 'revoke' || step === 'complete-deletion') await row.revoke(entry.object(), sweeper, guards);
    if (step === 'revoke') return;
    if (typeof step === 'string') {
      await writer.remove(kind, key, writing);
      return;
    }
    const condition = { type: row.ended, status: 'True', ...step, lastTransitionTime: toTimestamp(parts.now()) };
    await writer.update(kind, key, (current) => withEnd(current, condition), { ...writing, part: 'status' });
    if (row.leftover(entry) === 'grant') await row.revoke(entry.object(), sweeper, guards);
  }

  return createObjectSweep<Step>({ ...parts, kind, stepFor: (...asked) => stepFor(parts, row, ...asked), perform });
}

export const startApprovalSweep = (parts: ApprovalSweepParts & SweepTimer, row: Ending): (() => Promise<void>) =>
  startSweep(parts, createApprovalSweep(parts, row), `${row.kind.resource} could not be swept yet`);

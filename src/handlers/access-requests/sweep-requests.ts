import type { Catalog } from '../../api/catalog.ts';
import {
  CLUSTER_UID_FIELD,
  EXPIRY_FIELD,
  FINISHED_FIELD,
  REQUEST_NAMESPACE_LABEL,
} from '../../api/kinds/access-request.ts';
import { isOpenPhase, requestStatus } from '../../api/kinds/access-request-spec.ts';
import { fleetKey } from '../../api/object-key.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { type SweepTimer, startSweep } from '../../objects/start-sweep.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Logger } from '../../observability/logger.ts';
import { type Leadership, leaderGuards } from '../../storage/leadership.ts';
import { createObjectSweep, hasPassed } from '../sweep-objects.ts';
import { withDecision } from './decide-request.ts';
import type { GrantOwner, GrantStore } from './grant-objects.ts';

interface RequestSweepParts {
  readonly catalog: Pick<Catalog, 'accessRequests' | 'clusters'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find' | 'ready'>;
  /** Records each change in the audit log. */
  readonly writer: Pick<ObjectWriter, 'update' | 'remove'>;
  readonly grants: Pick<GrantStore, 'hasBinding' | 'isStored' | 'remove'>;
  /** The leader sweeps, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  /** See ClockGuard: epoch milliseconds, and -Infinity while nothing may be ended by the clock. */
  readonly removalTime: () => number;
  /** Epoch milliseconds, for timestamps. */
  readonly now: () => number;
  readonly logger: Pick<Logger, 'warn'>;
  /** How long finished requests are kept. */
  readonly retentionMs: number;
}

/** Between an approval and its binding. If that takes longer, the server that was to create it has failed. */
const BINDING_MS = 60_000;

type Step = 'remove-grant' | 'remove' | { readonly expire: string; readonly message: string };

/** What is due for a request: it expires, loses its grant, or is removed. */
function stepFor(parts: RequestSweepParts, entry: StoredObject, time: number): Step | undefined {
  const { catalog, reader, grants, retentionMs } = parts;
  const phase = entry.field('status.phase');
  if (!isOpenPhase(phase)) {
    if (grants.isStored(ownerByLabel(entry))) return 'remove-grant';
    return hasPassed(entry.field(FINISHED_FIELD), time - retentionMs) ? 'remove' : undefined;
  }
  if (hasPassed(entry.field(EXPIRY_FIELD), time)) {
    return phase === 'Pending'
      ? { expire: 'NotDecided', message: 'it was not decided in time' }
      : { expire: 'TimeOver', message: 'the access has expired' };
  }
  if (phase === 'Pending') return undefined;
  const cluster = reader.find(catalog.clusters, fleetKey(entry.field('spec.cluster')));
  // Another cluster can have the name by now.
  if (cluster === undefined || cluster.uid !== entry.field(CLUSTER_UID_FIELD)) {
    return { expire: 'ClusterDeleted', message: 'the cluster was deleted' };
  }
  if (grants.hasBinding(ownerByLabel(entry))) return undefined;
  const decided = requestStatus(entry.object()).decisionTimestamp ?? '';
  return hasPassed(decided, time - BINDING_MS)
    ? { expire: 'BindingDeleted', message: 'the binding was deleted' }
    : undefined;
}

const ownerByLabel = ({ name, uid, labels }: StoredObject): GrantOwner => ({
  name,
  uid,
  namespace: labels?.[REQUEST_NAMESPACE_LABEL] ?? '',
});

/**
 * Ends expired requests, completes withdrawals that a crash interrupted, and removes finished requests. The
 * access itself expires without it: an expired binding grants nothing.
 */
export function createRequestSweep(parts: RequestSweepParts): () => Promise<void> {
  const { catalog, writer, grants, leadership } = parts;
  const kind = catalog.accessRequests;

  async function perform(entry: StoredObject, step: Step, now: number): Promise<void> {
    const guards = leaderGuards(leadership);
    const key = fleetKey(entry.name);
    // Keeps a request that was decided meanwhile.
    const preconditions = { resourceVersion: String(entry.revision) };
    if (step === 'remove-grant') return grants.remove(ownerByLabel(entry), guards);
    if (step === 'remove') {
      await writer.remove(kind, key, { dryRun: false, preconditions, guards });
      return;
    }
    const condition = { type: 'Expired', status: 'True', reason: step.expire, message: step.message };
    await writer.update(
      kind,
      key,
      (current) => ({
        ...current,
        status: withDecision(requestStatus(current), { ...condition, lastTransitionTime: toTimestamp(now) }),
      }),
      { dryRun: false, part: 'status', preconditions, guards },
    );
    await grants.remove(ownerByLabel(entry), guards);
  }

  return createObjectSweep({ ...parts, kind, stepFor: (entry, time) => stepFor(parts, entry, time), perform });
}

export const startRequestSweep = (parts: RequestSweepParts & SweepTimer): (() => Promise<void>) =>
  startSweep(parts, createRequestSweep(parts), 'access requests could not be swept yet');

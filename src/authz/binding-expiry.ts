import type { Catalog } from '../api/catalog.ts';
import { createRounds } from '../lib/rounds.ts';
import { createFailureReports } from '../objects/failure-reports.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import type { Logger } from '../observability/logger.ts';
import { type Leadership, leaderGuards } from '../storage/leadership.ts';
import type { Policy } from './policy/policy.ts';
import { readExpiry } from './policy/rbac-objects.ts';

interface BindingExpiryParts {
  readonly policy: Pick<Policy, 'expiredBindings'>;
  readonly kinds: Pick<Catalog, 'clusterRoleBindings' | 'roleBindings'>;
  readonly reader: Pick<ObjectReader, 'find' | 'ready'>;
  readonly writer: Pick<ObjectWriter, 'remove'>;
  /** The leader deletes bindings, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  /** See ClockGuard. */
  readonly removalTime: () => number;
  /** Makes open watches follow permissions that have ended. */
  readonly followExpirations: () => void;
  readonly every: (ms: number, act: () => void) => () => void;
  readonly logger: Pick<Logger, 'warn'>;
}

const CHECK_MS = 250;

/**
 * Ends bindings at their time. The policy ignores expired bindings by itself. Every replica updates its open watches
 * here, and the leader deletes the objects: a stored binding should not look like a permission for long.
 */
export function startBindingExpiry(parts: BindingExpiryParts): () => Promise<void> {
  const { reader, leadership, logger } = parts;
  const onFailure = (error: unknown): void =>
    logger.warn({ err: error }, 'bindings that have expired could not be deleted yet');
  const reportFailure = createFailureReports(logger);
  const rounds = createRounds(() => sweep(parts, reportFailure), onFailure);
  const stop = parts.every(CHECK_MS, () => {
    if (!reader.ready) return;
    parts.followExpirations();
    if (leadership.leads()) rounds.start();
  });
  return async () => {
    stop();
    await rounds.ended();
  };
}

/** The precondition protects a binding whose expiry was extended meanwhile. */
async function sweep(
  parts: BindingExpiryParts,
  reportFailure: (binding: StoredObject, error: unknown) => void,
): Promise<void> {
  const { policy, kinds, reader, writer, leadership } = parts;
  const time = parts.removalTime();
  for (const { namespace, name, expiresAt } of [...policy.expiredBindings()]) {
    // A binding with an invalid expiry is kept, so that an operator can correct it.
    if (!Number.isFinite(expiresAt) || expiresAt > time) continue;
    const kind = namespace === '' ? kinds.clusterRoleBindings : kinds.roleBindings;
    const objectKey = { cluster: '', namespace, name };
    const found = reader.find(kind, objectKey);
    if (found === undefined) continue;
    try {
      if (!(readExpiry(found.object()) <= time)) continue;
      const preconditions = { resourceVersion: String(found.revision) };
      await writer.remove(kind, objectKey, { dryRun: false, preconditions, guards: leaderGuards(leadership) });
    } catch (error) {
      // The other bindings do not wait for this one.
      reportFailure(found, error);
    }
  }
}

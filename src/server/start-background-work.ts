import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { startBindingExpiry } from '../authz/binding-expiry.ts';
import { openProber } from '../clusters/prober/open-prober.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { accessRequestEnding } from '../handlers/access-requests/access-request.ts';
import type { GrantStore } from '../handlers/access-requests/grant-objects.ts';
import { startApprovalSweep } from '../handlers/approvals/sweep.ts';
import { passEnding } from '../handlers/passes/pass.ts';
import { pause } from '../lib/backoff.ts';
import { workerEntry } from '../lib/program-files.ts';
import { every } from '../lib/rounds.ts';
import type { auditedWriter } from '../objects/audited-writer.ts';
import { startSweep } from '../objects/start-sweep.ts';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import { startCompactor } from '../storage/compactor.ts';
import { startConsistencyChecks } from '../storage/consistency-checker.ts';
import type { Store } from '../storage/contract.ts';
import type { Leadership } from '../storage/leadership.ts';
import type { Issuers } from '../tokens/claims.ts';
import type { ClockGuard } from '../tokens/clock/clock-guard.ts';
import type { StoredKeyRing } from '../tokens/keys/key-ring.ts';
import type { Revocations } from '../tokens/revocations/revocations.ts';
import { createKeyRefresh } from './create-key-refresh.ts';
import type { Objects } from './create-objects.ts';

interface BackgroundParts {
  readonly options: ServeOptions;
  readonly catalog: Catalog;
  readonly store: Store;
  readonly objects: Objects;
  readonly grants: GrantStore;
  readonly revocations: Revocations;
  readonly issuers: Issuers;
  readonly keyRing: StoredKeyRing;
  readonly leadership: Leadership;
  /** Leads only while the clock is right, too: for what is done by the time of day. */
  readonly guardedLeadership: Pick<Leadership, 'leads' | 'fence'>;
  readonly clock: Pick<ClockGuard, 'removalTime' | 'latest'>;
  /** A writer that records each change in the audit log, under the name of the part that makes it. */
  readonly auditedWriterOf: (part: string) => ReturnType<typeof auditedWriter>;
  /** The port of this server, which is no cluster. */
  readonly ownPort: number;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Called with how to stop each part, as soon as it runs. */
  readonly onStart: (stop: () => Promise<void> | void) => void;
}

const PROBE_WORKER = workerEntry('clusters/prober/probe-worker');
/** Between two pages of a consistency check of the caches. */
const CHECK_PAUSE_MS = 10;
/** Frequent compaction keeps an SQLite file small. etcd may serve others and pauses while it compacts. */
const COMPACTION_INTERVAL_MS = { sqlite: 10_000, etcd: 60_000 };

/**
 * What the server does without a request: checks of the caches, sweeps of objects whose time has passed, compaction and
 * probes. A part of `compose`.
 */
export function startBackgroundWork(parts: BackgroundParts): void {
  const { options, catalog, store, objects, leadership, clock, auditedWriterOf, metrics, logger, onStart } = parts;
  const { reader, writer, reflector, caches, policy, broadcaster, propagation } = objects;

  const count = ({ group, resource }: Kind, status: string) => metrics.cacheChecks.inc({ group, resource, status });
  onStart(
    startConsistencyChecks({
      store,
      reflector,
      caches,
      count,
      pause: async () => pause(CHECK_PAUSE_MS, { ref: false }),
      every,
      logger,
    }),
  );

  const removalTime = () => clock.removalTime();
  const sweeping = { catalog, reader, leadership: parts.guardedLeadership, removalTime, every, logger };
  const { grants, revocations } = parts;
  const expiry = { policy, kinds: catalog, followExpirations: () => broadcaster.followExpirations() };
  onStart(startBindingExpiry({ ...sweeping, ...expiry, writer: auditedWriterOf('binding-expiry') }));
  // Also with a wrong clock: they complete revocations that a crash has interrupted.
  const completing = { ...sweeping, leadership, now: () => clock.latest() };
  const requests = { ...completing, writer: auditedWriterOf('access-requests') };
  const limits = options.accessRequests;
  onStart(startApprovalSweep(requests, accessRequestEnding({ catalog, grants, limits })));
  const passes = { ...completing, writer: auditedWriterOf('passes') };
  onStart(startApprovalSweep(passes, passEnding({ ...passes, revocations })));
  onStart(startSweep({ every, leadership, logger }, () => propagation.retry(), 'a deletion could not be completed'));

  const { retentionMs, revisions } = options.history;
  const compactor = startCompactor({
    store,
    leadership,
    retainMs: retentionMs,
    retainRevisions: revisions,
    intervalMs: COMPACTION_INTERVAL_MS[options.store.engine],
    logger,
  });
  onStart(() => compactor.stop());
  const { issuers, keyRing, ownPort } = parts;
  const prober = openProber({
    intervalMs: options.probeIntervalMs,
    productName: options.productName,
    catalog,
    reader,
    writer,
    reflector,
    connections: { wanted: options.probeConnections, clients: options.maxConnections },
    worker: {
      entry: PROBE_WORKER,
      settings: {
        clusterNetworks: options.clusterNetworks.map(({ cidr }) => cidr),
        credentialsDir: options.credentialsDir,
        ownPort,
      },
    },
    leadership,
    keyRefresh: createKeyRefresh({ options, issuers, keyRing, count: () => metrics.keySetRefreshes.inc() }),
    logger,
  });
  onStart(() => prober.stop());
}

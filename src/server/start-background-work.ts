import type { Kind } from '../api/kind.ts';
import { issuesTokensItself } from '../api/kinds/cluster-spec.ts';
import { startBindingExpiry } from '../authz/binding-expiry.ts';
import { startBindingStatus } from '../authz/binding-status.ts';
import { createConnectorRound } from '../clusters/connector-readiness.ts';
import { openProber, type ProberParts } from '../clusters/prober/open-prober.ts';
import { accessRequestEnding } from '../handlers/access-requests/access-request.ts';
import { startApprovalSweep } from '../handlers/approvals/sweep.ts';
import { passEnding } from '../handlers/passes/pass.ts';
import { pause } from '../lib/backoff.ts';
import { workerEntry } from '../lib/program-files.ts';
import { every } from '../lib/rounds.ts';
import { unverifiableToken } from '../lib/unverifiable-token.ts';
import { startSweep } from '../objects/sweep-objects.ts';
import { startCompactor } from '../storage/compactor.ts';
import { startConsistencyChecks } from '../storage/consistency-checker.ts';
import { leaderGuards } from '../storage/contract.ts';
import { refreshTimes } from '../tokens/keys/ring-state.ts';
import type { Base, State } from './open-state.ts';

interface BackgroundParts extends Base, State {
  /** The port of this server, which is no cluster. */
  readonly ownPort: number;
}

const PROBE_WORKER = workerEntry('clusters/prober/probe-worker');
/** Between two pages of a consistency check of the caches. */
const CHECK_PAUSE_MS = 10;
/** Between two rounds over the connectors. */
const CONNECTORS_MS = 5_000;
/** Longer than a request takes: until then the request completes the deletion. */
const DELETIONS_MS = 60_000;
/** Frequent compaction keeps an SQLite file small. etcd may serve others and pauses while it compacts. */
const COMPACTION_INTERVAL_MS = { sqlite: 10_000, etcd: 60_000 };

/**
 * What the server does without a request: checks of the caches, sweeps of objects whose time has passed, compaction and
 * probes. A part of `compose`.
 */
export function startBackgroundWork(parts: BackgroundParts): void {
  const { options, catalog, store, objects, leadership, clock, auditedWriterOf, metrics, logger, onOpen } = parts;
  const { reader, writer, policy, broadcaster, propagation } = objects;

  const count = ({ group, resource }: Kind, status: string) => metrics.cacheChecks.inc({ group, resource, status });
  const betweenPages = async (): Promise<void> => pause(CHECK_PAUSE_MS, { ref: false });
  onOpen(startConsistencyChecks({ ...objects, store, count, pause: betweenPages, every, logger }));

  const removalTime = () => clock.removalTime();
  const sweeping = { catalog, reader, leadership: parts.guardedLeadership, removalTime, every, logger };
  const { grants, tokenRecords } = parts;
  onOpen(startBindingExpiry({ ...sweeping, writer: auditedWriterOf('binding-expiry') }));
  const labelsChangedAt = () => broadcaster.labelsChangedAt;
  const bindings = { policy, writer, labelsChangedAt, work: parts.work.job('bindings') };
  onOpen(startBindingStatus({ ...sweeping, ...bindings, leadership, now: Date.now }));
  // Also with a wrong clock: they complete revocations that a crash has interrupted.
  const completing = { ...sweeping, leadership, now: () => clock.latest() };
  const requests = { ...completing, writer: auditedWriterOf('access-requests') };
  const limits = options.accessRequests;
  onOpen(startApprovalSweep(requests, accessRequestEnding({ catalog, grants, limits })));
  const passes = { ...completing, writer: auditedWriterOf('passes') };
  onOpen(startApprovalSweep(passes, passEnding({ ...passes, revocations: tokenRecords.revocations })));
  const finishing = { every, leadership, logger };
  onOpen(startSweep(finishing, () => propagation.resume(), 'a deletion could not be completed', DELETIONS_MS));

  const { retentionMs, revisions } = options.history;
  const compactor = startCompactor({
    store,
    leadership,
    retainMs: retentionMs,
    retainRevisions: revisions,
    intervalMs: COMPACTION_INTERVAL_MS[options.store.engine],
    logger,
  });
  onOpen(() => compactor.stop());
  const reports = {
    ...{ catalog, reader, writer, work: parts.work.job('connectors') },
    guards: () => leaderGuards(leadership),
    now: () => clock.latest(),
  };
  const failure = 'the reports of connectors could not be written yet';
  onOpen(startSweep({ every, leadership, logger }, createConnectorRound(reports), failure, CONNECTORS_MS));
  const prober = openProber({
    ...objects,
    intervalMs: options.probeIntervalMs,
    productName: options.productName,
    catalog,
    maxClients: options.maxConnections,
    worker: {
      entry: PROBE_WORKER,
      settings: {
        clusterNetworks: options.clusterNetworks.map(({ cidr }) => cidr),
        credentialsDir: options.credentialsDir,
        ownPort: parts.ownPort,
      },
    },
    leadership,
    keyRefresh: keyRefreshOf(parts),
    logger,
  });
  onOpen(() => prober.stop());
}

/** After a key was revoked, clusters that verify its tokens read the key set again. */
const keyRefreshOf = ({ options, issuers, signing }: BackgroundParts): ProberParts['keyRefresh'] => ({
  times: () => refreshTimes(signing.keyRing.revocations()),
  tokenFor: (cluster) => {
    if (issuesTokensItself(cluster, options.credentialsDir)) return;
    const issuer = issuers.issuerFor(cluster.metadata.name ?? '');
    return unverifiableToken({ issuer, audience: issuer, algorithm: options.signingAlgorithm, now: Date.now() });
  },
});

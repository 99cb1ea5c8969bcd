import { mkdir } from 'node:fs/promises';
import type { Catalog } from '../api/catalog.ts';
import { issuesTokensItself } from '../api/kinds/cluster-spec.ts';
import { installBootstrapRoles } from '../authz/install-bootstrap-roles.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { createGrantStore } from '../handlers/access-requests/grant-objects.ts';
import { pause } from '../lib/backoff.ts';
import { CLOCKS } from '../lib/clock-jumps.ts';
import type { MemoryAccount } from '../lib/memory-account.ts';
import { every } from '../lib/rounds.ts';
import type { WorkQueue } from '../lib/work-queue.ts';
import { auditedWriter } from '../objects/audited-writer.ts';
import type { AuditLogs } from '../observability/audit/open-audit.ts';
import { serverEvent } from '../observability/audit/server-event.ts';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { Trace } from '../observability/protocol-trace.ts';
import { leadsWhile, StorageError } from '../storage/contract.ts';
import { measuredStore } from '../storage/measured-store.ts';
import type { Issuers } from '../tokens/claims.ts';
import { openClockGuard } from '../tokens/clock/open-clock-guard.ts';
import { openSigning } from '../tokens/open-signing.ts';
import { openTokenRecords } from '../tokens/revocations/token-records.ts';
import { createObjects } from './create-objects.ts';
import type { OpenedStore } from './open-store.ts';
import type { Siblings } from './workers/worker-catch-up.ts';

const BOOKMARK_INTERVAL_MS = 60_000;

/** What `compose` gives to each of its parts. */
export interface Base {
  readonly options: ServeOptions;
  readonly catalog: Catalog;
  readonly issuers: Issuers;
  readonly audit: AuditLogs;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** For all work of this process that takes long. */
  readonly work: WorkQueue;
  readonly memory: MemoryAccount;
  readonly trace: Trace | undefined;
  /** Called with how to close each part, as soon as it is open. */
  readonly onOpen: (close: () => Promise<void> | void) => void;
}

interface StateParts extends Base {
  readonly openStore: () => Promise<OpenedStore>;
  /** Repeats a step while the store cannot be reached. */
  readonly waiting: <T>(step: () => Promise<T>) => Promise<T>;
  /** The other workers of this server. */
  readonly siblings: Siblings | undefined;
}

/** What is stored, and the parts that keep it in memory. */
export type State = Awaited<ReturnType<typeof openState>>;

/** Opens the store, fills the caches, and reads the signing keys and the records of tokens. A part of `compose`. */
export async function openState(parts: StateParts) {
  const { options, catalog, issuers, openStore, waiting, siblings, audit, metrics, logger, work, memory, onOpen } =
    parts;
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const { store: engine, time, certificateExpiry, campaign } = await waiting(openStore);
  if (certificateExpiry !== undefined) metrics.observeCertificate('etcd-certfile', certificateExpiry);
  const observe = (operation: string, seconds: number, failed: boolean): void => {
    metrics.storeSeconds.observe({ operation }, seconds);
    if (failed) metrics.storeErrors.inc({ operation });
  };
  const store = measuredStore(engine, observe, siblings?.afterWrite, parts.trace);
  onOpen(() => store.close());
  const leadership = campaign();
  onOpen(() => leadership.close());
  const clockGuard = await openClockGuard({
    store,
    time,
    leadership,
    limitMs: options.maxClockSkewMs,
    ...CLOCKS,
    every,
    logger,
  });
  onOpen(() => clockGuard.close());
  const clock = clockGuard.guard;
  /** Leads only while the clock is right, too: for what is done by the time of day. */
  const guardedLeadership = leadsWhile(leadership, () => clock.isRight());
  const objects = createObjects({
    catalog,
    store,
    productName: options.productName,
    issuerOf: issuers.issuerFor,
    maxExpirationSeconds: options.maxTokenExpirationSeconds,
    issuesOwnTokens: (object) => issuesTokensItself(object, options.credentialsDir),
    historyRevisions: options.history.revisions,
    bookmarkIntervalMs: BOOKMARK_INTERVAL_MS,
    delay: async (ms) => pause(ms, { ref: false }),
    work,
    memory,
    trace: parts.trace,
    onError: (error) => logger.error({ err: error }, storeErrorText(error)),
  });
  const { reader, writer, propagation, reflector, freshness, broadcaster } = objects;
  reflector.listen({
    onEvent: ({ before, after }) => {
      const kind = (after ?? before)?.kind;
      if (kind !== undefined) metrics.countCacheEvent(kind);
    },
    onReset: () => {},
  });
  await waiting(() => reflector.start());
  onOpen(() => reflector.stop());
  await waiting(() => propagation.resume());
  /**
   * A writer that records each change in the audit log, under the name of the part that makes it: changes of RBAC
   * objects and keys that no request asked for.
   */
  const auditedWriterOf = (part: string) =>
    auditedWriter(writer, part, (change) => {
      const code = change.verb === 'create' ? 201 : 200;
      audit.security.write(serverEvent(change, options.productName, Date.now).complete({ code }));
    });
  await waiting(() => installBootstrapRoles(catalog, reader, auditedWriterOf('bootstrap-roles')));

  const grants = createGrantStore({ catalog, reader, writer: auditedWriterOf('access-requests') });

  const timed = {
    leadership: guardedLeadership,
    now: () => clock.latest(),
    removalTime: () => clock.removalTime(),
    logger,
  };
  const signing = await waiting(() =>
    openSigning({
      ...options,
      ...timed,
      store,
      issuers,
      objects: { kind: catalog.signingKeys, reader, writer: auditedWriterOf('signing-keys') },
    }),
  );
  onOpen(signing.close);
  const { keyRing } = signing;
  freshness.include(keyRing.position);
  onOpen(freshness.start());
  // Watches that were opened with a token of a revoked key end at once.
  keyRing.onChange(() => broadcaster.checkCallers());
  const tokenRecords = await waiting(() =>
    openTokenRecords({ ...options, ...timed, catalog, reader, writer, store, every }),
  );
  onOpen(tokenRecords.close);
  return { store, leadership, guardedLeadership, clock, objects, auditedWriterOf, grants, signing, tokenRecords };
}

const storeErrorText = (error: unknown): string =>
  error instanceof StorageError && error.code === 'unreadable'
    ? 'an object in the store cannot be read: it is left out until it is repaired'
    : 'the watch of the store was interrupted';

import { randomBytes, randomUUID } from 'node:crypto';
import type { Catalog } from '../api/catalog.ts';
import { COMPUTED_ANNOTATIONS } from '../api/clusters/annotations.ts';
import { WrongStoredType } from '../api/codec/stored-types.ts';
import { fleetKey, REGISTRY_PREFIX } from '../api/kind.ts';
import { GENERATION_FIELD } from '../api/kinds/fleet-role-binding.ts';
import { orderStatus } from '../api/kinds/token-order.ts';
import { Policy } from '../authz/policy/policy.ts';
import { PolicyUpdater } from '../authz/policy-updater.ts';
import { createPublicView, type PublicViewOptions } from '../clusters/public-view.ts';
import { Broadcaster } from '../handlers/watch/broadcaster.ts';
import type { MemoryAccount } from '../lib/memory-account.ts';
import type { WorkQueue } from '../lib/work-queue.ts';
import { createDeletionPropagation } from '../objects/deletion-propagation.ts';
import { isProjected, ProjectedCache, withProjections } from '../objects/projected-cache.ts';
import type { ReadableEvent } from '../objects/readable.ts';
import { ObjectReader } from '../objects/reader.ts';
import { cacheOptionsOf, type StoredObject } from '../objects/stored-object.ts';
import { createObjectWriter } from '../objects/writer.ts';
import type { Trace } from '../observability/protocol-trace.ts';
import type { Store } from '../storage/contract.ts';
import { Freshness } from '../storage/freshness.ts';
import { HistoryBudget } from '../storage/history-budget.ts';
import { Reflector } from '../storage/reflector.ts';
import { type CacheEvent, WatchCache } from '../storage/watch-cache.ts';

interface ObjectsOptions extends PublicViewOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  /** How many past revisions the caches can serve. */
  readonly historyRevisions: number;
  readonly bookmarkIntervalMs: number;
  readonly delay: (ms: number) => Promise<void>;
  /** Epoch milliseconds, for permissions that end. Default: the clock of the system. */
  readonly now?: () => number;
  /** Called when the watch of the store is interrupted, and with each object that cannot be read. */
  readonly onError: (error: unknown) => void;
  readonly work: WorkQueue;
  readonly memory: MemoryAccount;
  readonly trace?: Trace | undefined;
}

export type Objects = ReturnType<typeof createObjects>;

/**
 * The parts between HTTP and the store: watch caches, reader, writer, policy, watch broadcaster, deletion propagation.
 * Called by `compose`, and by tests that need them connected as the program connects them. The caller starts the
 * reflector.
 */
export function createObjects(options: ObjectsOptions) {
  const { catalog, store, historyRevisions, trace } = options;
  const publicView = createPublicView(options);
  const budget = new HistoryBudget();
  const caches = new Map(
    catalog.storedKinds.map((kind) => {
      const cache = new WatchCache<StoredObject>({
        ...cacheOptionsOf(kind, kind === catalog.clusters ? publicView : undefined),
        windowSize: historyRevisions,
        budget,
      });
      return [kind, cache] as const;
    }),
  );
  const reflector = new Reflector<StoredObject>({
    store,
    prefix: REGISTRY_PREFIX,
    caches: [...caches.values()],
    historyRevisions,
    delay: options.delay,
    onError: options.onError,
    work: options.work.job('caches'),
    decodeProblem: (error) => (error instanceof WrongStoredType ? error.message : undefined),
  });
  const freshness = new Freshness({ store, parts: [reflector] });
  const reader = new ObjectReader(reflector, caches, freshness, trace);
  const policy = new Policy({
    labelsOf: (name) => {
      const cluster = reader.find(catalog.clusters, fleetKey(name));
      return cluster === undefined ? undefined : (cluster.labels ?? {});
    },
    ...(options.now && { now: options.now }),
  });
  const isPolicy = ({ before, after }: ReadableEvent): boolean => {
    const kind = (after ?? before)?.kind;
    if (kind?.policyRole === undefined) return false;
    // The leader writes the status of bindings, which grants nothing.
    return kind !== catalog.fleetRoleBindings || after?.field(GENERATION_FIELD) !== before?.field(GENERATION_FIELD);
  };
  const broadcaster = new Broadcaster({
    clusters: catalog.clusters,
    isPolicy,
    trace,
    bookmarkIntervalMs: options.bookmarkIntervalMs,
    memory: options.memory,
    timeOfDay: options.now ?? Date.now,
  });
  const onEvent = (event: CacheEvent<StoredObject>): void => {
    const { before, after = before, revision } = event;
    const order = after?.kind === catalog.tokenOrders ? orderStatus(after.object()) : {};
    const facts = { claimedBy: order.claimedBy, phase: order.phase, answered: order.answer && true };
    trace?.('applied', { revision, key: after?.key, gone: !event.after, rules: isPolicy(event), ...facts });
  };
  if (trace) reflector.listen({ onEvent, onReset: (revision) => trace('filled', { revision }) });
  // The policy first: an event is filtered by the policy at its revision.
  const onOrphaned = (revision: number): void => broadcaster.onBindingsOrphaned(revision);
  reflector.listen(new PolicyUpdater({ policy, reader, catalog, onOrphaned }));
  const projections = catalog.projections
    .filter(isProjected)
    .map((kind) => new ProjectedCache(kind, reader.cache(kind.projection.source)));
  reflector.listen(withProjections(projections, broadcaster));
  const writer = createObjectWriter({
    store,
    reader,
    catalog,
    now: Date.now,
    randomUUID,
    randomSuffix,
    computedAnnotations: Object.values(COMPUTED_ANNOTATIONS),
  });
  const propagation = createDeletionPropagation({
    store,
    reader,
    writer,
    catalog,
    work: options.work.job('deletions'),
  });
  return { publicView, reflector, freshness, caches, reader, writer, policy, broadcaster, propagation };
}

/** Kubernetes' alphabet for generated names: no vowels, and no digits that look like letters. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

const randomSuffix = (): string =>
  [...randomBytes(5)].map((byte) => SUFFIX_ALPHABET[byte % SUFFIX_ALPHABET.length]).join('');

import { createRounds } from '../lib/rounds.ts';
import { quantity } from '../lib/text.ts';
import type { Logger } from '../observability/logger.ts';
import type { KeyValue, Store } from './contract.ts';
import type { Reflector } from './reflector.ts';
import { scan } from './scan.ts';
import type { CacheEntry, Snapshot } from './snapshot.ts';
import type { WatchCache } from './watch-cache.ts';

/** `error`: the store could not be read. */
export type CheckStatus = 'success' | 'failure' | 'error';

interface CheckOptions<E extends CacheEntry, Kind> {
  readonly store: Pick<Store, 'list'>;
  readonly reflector: Pick<Reflector<E>, 'revision' | 'ready' | 'startOver'>;
  readonly caches: ReadonlyMap<Kind, WatchCache<E>>;
  /** Awaited between two pages, so that requests go first. */
  readonly pause: () => Promise<unknown>;
  /** Called once for each cache; with the reason unless the status is `success`. */
  readonly observe: (kind: Kind, status: CheckStatus, reason?: unknown) => void;
}

/** kube-apiserver's interval. */
const INTERVAL_MS = 300_000;

/**
 * B7: compares the caches with the store at an interval. Returns how to stop; resolves when a running check is done.
 */
export function startConsistencyChecks<E extends CacheEntry, Kind extends { readonly resource: string }>(
  options: Omit<CheckOptions<E, Kind>, 'observe'> & {
    readonly count: (kind: Kind, status: CheckStatus) => void;
    readonly every: (milliseconds: number, task: () => void) => () => void;
    readonly logger: Pick<Logger, 'error' | 'warn'>;
  },
): () => Promise<void> {
  const { count, every, logger } = options;
  let stopped = false;
  const observe = (kind: Kind, status: CheckStatus, reason: unknown): void => {
    if (stopped) return;
    count(kind, status);
    const { resource } = kind;
    if (status === 'failure') {
      logger.error({ resource, difference: reason }, 'the cache differs from the store, all caches are refilled');
    } else if (status === 'error') {
      logger.warn({ resource, err: reason }, 'the cache could not be compared with the store');
    }
  };
  const onFailure = (error: unknown): void => logger.error({ err: error }, 'the caches could not be compared');
  const rounds = createRounds(() => checkCaches({ ...options, observe }), onFailure);
  const stop = every(INTERVAL_MS, rounds.start);
  return async () => {
    stopped = true;
    stop();
    await rounds.ended();
  };
}

/**
 * Compares the caches with the store, both at one revision, and has the caches refilled when they differ. All reads are
 * served from the caches, so a lost event would mean wrong answers until the next start.
 */
export async function checkCaches<E extends CacheEntry, Kind>(options: CheckOptions<E, Kind>): Promise<void> {
  const { caches, reflector, observe } = options;
  if (!reflector.ready) return;
  // Taken in one tick, so that all are of this revision. Snapshots are copied on write.
  const { revision } = reflector;
  const snapshots = [...caches].map(([kind, cache]) => ({ kind, cache, snapshot: cache.snapshot }));
  let differs = false;
  for (const { kind, cache, snapshot } of snapshots) {
    try {
      const difference = await findDifference(options, cache, snapshot, revision);
      if (difference !== undefined) differs = true;
      observe(kind, difference === undefined ? 'success' : 'failure', difference);
    } catch (error) {
      observe(kind, 'error', error);
    }
  }
  if (differs) reflector.startOver();
}

async function findDifference<E extends CacheEntry>(
  { store, pause }: Pick<CheckOptions<E, unknown>, 'store' | 'pause'>,
  cache: WatchCache<E>,
  snapshot: Snapshot<E>,
  revision: number,
): Promise<string | undefined> {
  let count = 0;
  for await (const items of scan(store, { prefix: cache.prefix, revision })) {
    for (const item of items) {
      const entry = snapshot.get(item.key);
      // The cache leaves out values that it cannot decode; the reflector has reported them.
      if (entry === undefined && !isReadable(cache, item)) continue;
      if (entry?.revision !== item.modRevision) {
        return `${item.key} is stored at revision ${item.modRevision}, and cached at ${entry?.revision ?? 'none'}`;
      }
      count += 1;
    }
    await pause();
  }
  return count === snapshot.size
    ? undefined
    : `the cache has ${quantity(snapshot.size - count, 'object')} more than the store`;
}

function isReadable<E extends CacheEntry>(cache: WatchCache<E>, item: KeyValue): boolean {
  try {
    cache.refill().add(item);
    return true;
  } catch {
    return false;
  }
}

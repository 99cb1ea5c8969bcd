import type { Kind } from '../api/kind.ts';
import type { Logger } from '../observability/logger.ts';
import { type CheckStatus, type ConsistencyOptions, checkCaches } from '../storage/consistency.ts';
import type { WatchCache } from '../storage/watch-cache.ts';
import type { StoredObject } from './stored-object.ts';

export interface CacheChecksOptions extends Pick<ConsistencyOptions<StoredObject>, 'store' | 'reflector' | 'pause'> {
  readonly caches: ReadonlyMap<Kind, WatchCache<StoredObject>>;
  readonly count: (kind: Kind, status: CheckStatus) => void;
  readonly every: (milliseconds: number, task: () => void) => () => void;
  readonly logger: Pick<Logger, 'error' | 'warn'>;
}

/** As often as kube-apiserver does. */
const EVERY_MS = 300_000;

/** Compares the caches with the store again and again; gives what ends it. */
export function startCacheChecks(options: CacheChecksOptions): () => Promise<void> {
  const { caches, count, every, logger, ...parts } = options;
  const kinds = new Map([...caches].map(([kind, cache]) => [cache, kind]));
  let underWay: Promise<void> | undefined;
  let ended = false;
  const observe = (cache: WatchCache<StoredObject>, status: CheckStatus, why: unknown): void => {
    const kind = kinds.get(cache);
    if (kind === undefined || ended) return;
    count(kind, status);
    const { resource } = kind;
    if (status === 'failure') {
      logger.error({ resource, difference: why }, 'the cache is not what the store holds: it is filled anew');
    } else if (status === 'error') {
      logger.warn({ resource, err: why }, 'the cache could not be compared with the store');
    }
  };
  const stop = every(EVERY_MS, () => {
    underWay ??= checkCaches({ ...parts, caches: [...caches.values()], observe }).finally(() => {
      underWay = undefined;
    });
  });
  return async () => {
    ended = true;
    stop();
    await underWay;
  };
}

import type { KeyValue, Store } from './contract.ts';
import type { Reflector } from './reflector.ts';
import type { CacheEntry, Snapshot } from './snapshot.ts';
import type { WatchCache } from './watch-cache.ts';

/** `error`: the store could not tell. */
export type CheckStatus = 'success' | 'failure' | 'error';

export interface ConsistencyOptions<E extends CacheEntry> {
  readonly store: Pick<Store, 'list'>;
  readonly caches: readonly WatchCache<E>[];
  readonly reflector: Pick<Reflector<E>, 'revision' | 'ready' | 'startOver'>;
  /** Between two pages: this is nothing that anybody waits for. */
  readonly pause: () => Promise<unknown>;
  /** Told of each cache; `why` when it is not a success. */
  readonly observe: (cache: WatchCache<E>, status: CheckStatus, why?: unknown) => void;
}

const PAGE = 200;

/**
 * B7: compares the caches with the store, both at one revision, and has them filled anew when they differ. Everything that
 * is read comes from the caches, so an event that was lost on the way would be wrong answers until the next start.
 */
export async function checkCaches<E extends CacheEntry>(options: ConsistencyOptions<E>): Promise<void> {
  const { caches, reflector, observe } = options;
  if (!reflector.ready) return;
  // All in one turn, so that all are of this revision; they cost nothing until something changes.
  const { revision } = reflector;
  const held = caches.map((cache) => ({ cache, state: cache.present }));
  let differs = false;
  for (const { cache, state } of held) {
    try {
      const difference = await findDifference(options, cache, state, revision);
      if (difference !== undefined) differs = true;
      observe(cache, difference === undefined ? 'success' : 'failure', difference);
    } catch (error) {
      observe(cache, 'error', error);
    }
  }
  if (differs) reflector.startOver();
}

async function findDifference<E extends CacheEntry>(
  { store, pause }: ConsistencyOptions<E>,
  cache: WatchCache<E>,
  state: Snapshot<E>,
  revision: number,
): Promise<string | undefined> {
  let count = 0;
  let after: string | undefined;
  for (;;) {
    const request = { prefix: cache.prefix, revision, limit: PAGE, ...(after === undefined ? {} : { after }) };
    const page = await store.list(request);
    for (const item of page.items) {
      const entry = state.get(item.key);
      // What can not be read is left out on purpose, and was told when that happened.
      if (entry === undefined && !isReadable(cache, item)) continue;
      if (entry?.revision !== item.modRevision) {
        return `${item.key} is stored at revision ${item.modRevision}, and cached at ${entry?.revision ?? 'none'}`;
      }
      count += 1;
    }
    after = page.items.at(-1)?.key;
    if (!page.more || after === undefined) break;
    await pause();
  }
  return count === state.size ? undefined : `${state.size - count} objects are cached that are not stored`;
}

function isReadable<E extends CacheEntry>(cache: WatchCache<E>, item: KeyValue): boolean {
  try {
    cache.refill().add(item);
    return true;
  } catch {
    return false;
  }
}

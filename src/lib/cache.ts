import { LRUCache } from 'lru-cache';

/** The owner of a cache declares how many entries it holds and when an entry expires. */
interface CacheOptions {
  /** The least recently used entry is evicted when there are more. */
  readonly maxEntries: number;
  /** An entry expires this long after it was set. Without it, an entry stays until it is evicted or deleted. */
  readonly ttlMs?: number;
  /** Milliseconds on a monotonic clock; for tests of `ttlMs`. */
  readonly now?: (() => number) | undefined;
}

/**
 * The one cache of the program: bounded, least recently used first out, keyed by text or number. An entry is found by
 * the value of its key, never because two parts hold the same object.
 */
export class Cache<K extends string | number, V extends NonNullable<unknown>> extends LRUCache<K, V> {
  constructor({ maxEntries, ttlMs, now }: CacheOptions) {
    super({
      max: maxEntries,
      ...(ttlMs === undefined ? {} : { ttl: ttlMs, perf: { now: now ?? (() => performance.now()) }, ttlResolution: 0 }),
    });
  }

  /** The cached value, or the result of `compute`, which is then cached. Errors of `compute` are not cached. */
  getOrCompute(key: K, compute: () => V): V {
    const cached = this.get(key);
    if (cached !== undefined) return cached;
    const value = compute();
    this.set(key, value);
    return value;
  }
}

/**
 * A pure function of a text, cached by that text. Callers share the result, so they must not change it. A text for
 * which `compute` throws is not cached, and none longer than `maxKeyLength`: clients choose them, and must not choose
 * the size of the cache.
 */
export function cached<V extends NonNullable<unknown>>(
  compute: (text: string) => V,
  { maxKeyLength, ...options }: CacheOptions & { readonly maxKeyLength: number },
): (text: string) => V {
  const cache = new Cache<string, V>(options);
  return (text) => (text.length > maxKeyLength ? compute(text) : cache.getOrCompute(text, () => compute(text)));
}

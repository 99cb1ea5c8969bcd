import { Cache } from '../../lib/cache.ts';
import type { Resolve } from '../upstream/dial.ts';

/** More names than a fleet has. */
const MAX_NAMES = 20_000;

/**
 * Addresses of host names. Node resolves names in its thread pool, two at a time, and the names of a large fleet in
 * every interval would be more than a slow resolver answers. Owned by the probe worker. An entry dies after `ttlMs`,
 * and at once when a probe of its cluster fails.
 */
export function createDnsCache(resolve: Resolve, ttlMs: number, now?: () => number) {
  const addresses = new Cache<string, readonly string[]>({ maxEntries: MAX_NAMES, ttlMs, now });
  return {
    resolve: async (hostname: string): Promise<readonly string[]> => {
      const cached = addresses.get(hostname);
      if (cached !== undefined) return cached;
      const resolved = await resolve(hostname);
      addresses.set(hostname, resolved);
      return resolved;
    },
    /** The next lookup of this name asks the resolver. */
    forget: (hostname: string) => addresses.delete(hostname),
  };
}

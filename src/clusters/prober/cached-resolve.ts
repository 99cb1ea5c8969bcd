import type { Resolve } from '../upstream/dial.ts';

export interface CachedResolve {
  readonly resolve: Resolve;
  /** The next look-up of this name is a real one. */
  forget(hostname: string): void;
}

/**
 * Node looks names up in the threads that tokens are signed in, two at a time. Ten thousand names every thirty
 * seconds would be more than a slow resolver gives; an address that worked a minute ago is good for another look.
 */
export function createCachedResolve(resolve: Resolve, keepMs: number, now: () => number): CachedResolve {
  const kept = new Map<string, { readonly addresses: readonly string[]; readonly until: number }>();
  return {
    resolve: async (hostname) => {
      const found = kept.get(hostname);
      if (found !== undefined && now() < found.until) return found.addresses;
      kept.delete(hostname);
      const addresses = await resolve(hostname);
      kept.set(hostname, { addresses, until: now() + keepMs });
      dropOutdated(kept, now());
      return addresses;
    },
    forget: (hostname) => kept.delete(hostname),
  };
}

/** All are kept for the same time, so those that were put in first are outdated first. */
function dropOutdated(kept: Map<string, { readonly until: number }>, now: number): void {
  for (const [hostname, { until }] of kept) {
    if (until > now) return;
    kept.delete(hostname);
  }
}

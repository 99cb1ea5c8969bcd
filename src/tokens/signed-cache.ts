/**
 * Remembers, for a few seconds, what was signed under a token. Only the mathematics is saved: that these bytes
 * carry our signature does not change. Time, audience and liveness do, and are never remembered.
 *
 * Keyed by a digest of the token: a dump of this memory holds no token, and no lookup compares tokens byte by
 * byte. One token can be spelled in several ways that verify (ES256 takes s and n-s), so bytes are no identity;
 * here another spelling is merely another entry. Failures are not kept: they would let anyone fill the memory.
 */
export interface SignedCache<T> {
  /** The remembered value, or that of `compute`; callers that ask at the same time share one computation. */
  get(digest: string, now: number, compute: () => Promise<T>): Promise<T> | T;
}

interface Options<T> {
  readonly maxEntries: number;
  readonly maxAgeMs: number;
  readonly keep: (value: T) => boolean;
}

export function createSignedCache<T>({ maxEntries, maxAgeMs, keep }: Options<T>): SignedCache<T> {
  // In the order in which they came. Who is used is only marked, and not put at the end each time: a Map through which much goes
  // is copied again and again.
  const entries = new Map<string, { readonly value: T; readonly since: number; isUsed: boolean }>();
  const underWay = new Map<string, Promise<T>>();

  function remember(key: string, value: T, since: number): void {
    entries.delete(key);
    // Before it comes: where all others are used, it would be the one.
    if (entries.size >= maxEntries) forgetOne();
    entries.set(key, { value, since, isUsed: false });
  }

  /** The oldest that nobody has used since it came, or since it was passed over here. */
  function forgetOne(): void {
    for (const [key, entry] of entries) {
      entries.delete(key);
      if (!entry.isUsed) return;
      entry.isUsed = false;
      entries.set(key, entry);
    }
  }

  async function computed(key: string, now: number, compute: () => Promise<T>): Promise<T> {
    const started = compute();
    underWay.set(key, started);
    try {
      const value = await started;
      if (keep(value)) remember(key, value, now);
      return value;
    } finally {
      underWay.delete(key);
    }
  }

  return {
    get(key, now, compute) {
      const entry = entries.get(key);
      if (entry !== undefined) {
        const age = now - entry.since;
        // A clock that was set back must not make an entry immortal.
        if (age >= 0 && age < maxAgeMs) {
          entry.isUsed = true;
          return entry.value;
        }
        entries.delete(key);
      }
      return underWay.get(key) ?? computed(key, now, compute);
    },
  };
}

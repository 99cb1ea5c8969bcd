import { Cache } from '../lib/cache.ts';
import type { Secret } from '../observability/secret.ts';

interface VerifiedTokenCacheOptions<T> {
  /** Verifies the signature and reads the claims. Rejects when the token is not accepted. Undefined is not cached. */
  readonly verify: (token: string) => Promise<T>;
  /** Whether the key that verified the token may still verify it. Reads memory only. */
  readonly hasKey: (verified: NonNullable<T>) => boolean;
}

const MAX_ENTRIES = 10_000;

/**
 * Claims of tokens whose signature was verified. Neither changes while the key is in force, so only they are cached.
 * The caller checks time, audience, revocation and objects at every use (ADR 3).
 *
 * The key is a digest of the token: a heap dump holds no token, and no lookup compares tokens byte by byte. One token
 * has several spellings that verify (ES256 accepts s and n-s); each is a separate entry. Failures and tokens of
 * other issuers are not cached: they would let anyone evict the entries of others.
 */
export class VerifiedTokenCache<T extends object | undefined> {
  /**
   * Owned by one verifier. An entry dies when it is the least recently used of MAX_ENTRIES, or at the first use after
   * its key has left the key set. The entry of an expired token stays: its time is checked at every use, and without
   * the entry every request that repeats the token would cost a signature check.
   */
  readonly #entries = new Cache<string, NonNullable<T>>({ maxEntries: MAX_ENTRIES });
  /** Verifications in flight, so that concurrent requests with one token share one. Bounded by those requests. */
  readonly #pending = new Map<string, Promise<T>>();
  readonly #options: VerifiedTokenCacheOptions<T>;

  constructor(options: VerifiedTokenCacheOptions<T>) {
    this.#options = options;
  }

  /** Not a promise when the token is cached: that is nearly every request, and a promise would delay each of them. */
  get(token: Secret): NonNullable<T> | Promise<T> {
    const digest = token.digest();
    const cached = this.#entries.get(digest);
    if (cached !== undefined) {
      if (this.#options.hasKey(cached)) return cached;
      this.#entries.delete(digest);
    }
    return this.#pending.get(digest) ?? this.#verify(digest, token);
  }

  #verify(digest: string, token: Secret): Promise<T> {
    const verification = this.#options
      .verify(token.reveal())
      .then((verified) => {
        if (verified !== undefined && verified !== null) this.#entries.set(digest, verified);
        return verified;
      })
      .finally(() => this.#pending.delete(digest));
    this.#pending.set(digest, verification);
    return verification;
  }
}

/**
 * Counts what is in flight, by key, so that concurrent requests do not exceed a limit together. Its user checks
 * the limit. A key is held only while something of it is in flight, so there are at most as many keys as requests.
 */
export class InFlightCounts {
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();

  /** How many keys have something in flight. */
  get size(): number {
    return this.#counts.size;
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** Counts one more until the returned function is called. Further calls of it do nothing. */
  add(key: string): () => void {
    this.#counts.set(key, this.of(key) + 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const left = this.of(key) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
      this.#waiting.get(key)?.resolve();
      this.#waiting.delete(key);
    };
  }

  /** Resolves at the next release of this key, of which there must be one in flight. */
  released(key: string): Promise<void> {
    const waiting = this.#waiting.get(key) ?? Promise.withResolvers<void>();
    this.#waiting.set(key, waiting);
    return waiting.promise;
  }
}

/** Counts creations in flight by requester: concurrent ones must not exceed a limit together. */
export class InFlightCounts {
  readonly #counts = new Map<string, number>();

  of(id: string): number {
    return this.#counts.get(id) ?? 0;
  }

  /** Counts one more until the returned function is called. */
  add(id: string): () => void {
    this.#counts.set(id, this.of(id) + 1);
    return () => {
      const left = this.of(id) - 1;
      if (left > 0) this.#counts.set(id, left);
      else this.#counts.delete(id);
    };
  }
}

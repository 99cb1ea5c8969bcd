/** What time it is where a store is kept: an ability that not every engine has. */
export interface StoreTime {
  /**
   * Asks each machine that keeps the store. Those that do not answer in time, or do not say, are left out; it never
   * rejects. `steady` is a clock that does not jump.
   */
  ask(steady: () => number): Promise<readonly TimeReading[]>;
}

export interface TimeReading {
  readonly member: string;
  /** Milliseconds since 1970, of a clock that shows whole seconds: it was that, or up to a second later. */
  readonly time: number;
  /** By the steady clock: it was that time at some moment between these two. */
  readonly asked: number;
  readonly answered: number;
}

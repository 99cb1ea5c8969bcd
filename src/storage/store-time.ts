/** The clocks of the machines that hold the store. Not every engine has this. */
export interface StoreTime {
  /** Reads the clock of each machine; those that do not answer in time are left out. Never rejects. */
  ask(monotonic: () => number): Promise<readonly TimeReading[]>;
}

export interface TimeReading {
  readonly member: string;
  /** Epoch milliseconds of a clock that shows whole seconds: the time was this, or up to a second later. */
  readonly time: number;
  /** On the monotonic clock: the clock was read between these two. */
  readonly asked: number;
  readonly answered: number;
}

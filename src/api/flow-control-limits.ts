/** How much is done at once, for each kind of work. */
export interface FlowControlLimits {
  readonly tokensAtOnce: number;
  readonly readsAtOnce: number;
  readonly writesAtOnce: number;
  /** How much of these three, and of the places for large bodies, one caller may have, in percent. */
  readonly callerShare: number;
  /** How many requests of one caller may wait for their turn, in each of these. */
  readonly waitingPerCaller: number;
  readonly watchesAtOnce: number;
  readonly watchesPerCaller: number;
}

/** The clocks of this machine, in milliseconds. Only the monotonic one never jumps. */
export interface Clocks {
  /** The wall clock. */
  readonly now: () => number;
  readonly monotonicNow: () => number;
}

export const CLOCKS: Clocks = { now: Date.now, monotonicNow: () => performance.now() };

interface ClockJumpsOptions extends Clocks {
  /** Whether the clock may have jumped just before this was made. */
  readonly jumpedBefore: boolean;
}

/** A wall clock that advances by this much more or less than the monotonic clock has jumped. */
export const JUMP_MS = 30_000;
/** How long after a jump nothing is removed by the clock: by then an operator can have corrected a wrong clock. */
export const STEADY_MS = 3_600_000;

/**
 * Notices when the wall clock is set, by comparing it with the monotonic clock at every call. A machine that was
 * suspended looks the same, and counts as a jump.
 */
export class ClockJumps {
  readonly #options: ClockJumpsOptions;
  /** The wall clock minus the monotonic clock, at the last call. */
  #offset: number;
  #jumpedAt: number;

  constructor(options: ClockJumpsOptions) {
    const at = options.monotonicNow();
    this.#options = options;
    this.#offset = options.now() - at;
    this.#jumpedAt = options.jumpedBefore ? at : Number.NEGATIVE_INFINITY;
  }

  /** False within an hour of a jump. */
  isSteady(): boolean {
    const { now, monotonicNow } = this.#options;
    const at = monotonicNow();
    const offset = now() - at;
    if (Math.abs(offset - this.#offset) > JUMP_MS) this.#jumpedAt = at;
    this.#offset = offset;
    return at - this.#jumpedAt >= STEADY_MS;
  }
}

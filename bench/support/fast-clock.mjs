/**
 * For `node --import`: the clock of the process runs faster than the world's, from a moment on that all processes of a
 * benchmark have in common. Timers keep the world's time. CLUSTERPASS_BENCH_CLOCK is `<that moment>,<how fast>`.
 */
const RealDate = Date;
const [start = 0, speed = 1] = (process.env.CLUSTERPASS_BENCH_CLOCK ?? '0,1').split(',').map(Number);

class FastDate extends RealDate {
  /** @param {unknown[]} args */
  constructor(...args) {
    // @ts-expect-error: whatever Date takes
    super(...(args.length === 0 ? [FastDate.now()] : args));
  }

  /** @override */
  static now() {
    return start + (RealDate.now() - start) * speed;
  }
}

globalThis.Date = /** @type {DateConstructor} */ (/** @type {unknown} */ (FastDate));

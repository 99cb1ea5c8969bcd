/**
 * Loaded into the server by `--import`. Its clock runs faster than real time, from a moment on that all processes of a
 * benchmark share. Timers keep real time. CLUSTERPASS_BENCH_CLOCK is `<moment in milliseconds>,<factor>`.
 */
const RealDate = Date;
const [start = 0, speed = 1] = (process.env.CLUSTERPASS_BENCH_CLOCK ?? '0,1').split(',').map(Number);

class FastDate extends RealDate {
  /** @param {unknown[]} args */
  constructor(...args) {
    // @ts-expect-error: any arguments of Date
    super(...(args.length === 0 ? [FastDate.now()] : args));
  }

  /** @override */
  static now() {
    return start + (RealDate.now() - start) * speed;
  }
}

globalThis.Date = /** @type {DateConstructor} */ (/** @type {unknown} */ (FastDate));

/**
 * For `node --import`: at SIGUSR2 the clock of the process jumps by what a file says, in milliseconds, and the process
 * says so. The file is named by CLUSTERPASS_TEST_CLOCK. Timers go on as they do when the clock of a machine is set.
 */
import { readFileSync } from 'node:fs';

const RealDate = Date;
let offset = 0;

class MovedDate extends RealDate {
  /** @param {unknown[]} args */
  constructor(...args) {
    // @ts-expect-error: whatever Date takes
    super(...(args.length === 0 ? [MovedDate.now()] : args));
  }

  /** @override */
  static now() {
    return RealDate.now() + offset;
  }
}

globalThis.Date = /** @type {DateConstructor} */ (/** @type {unknown} */ (MovedDate));
process.on('SIGUSR2', () => {
  offset = Number(readFileSync(process.env.CLUSTERPASS_TEST_CLOCK ?? '', 'utf8'));
  process.stdout.write(`the clock is off by ${offset} ms\n`);
});

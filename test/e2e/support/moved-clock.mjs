/**
 * For `node --import`: the clock of the process is off by what a file says, in milliseconds, if there is one at the
 * start; at SIGUSR2 it is read again, and the process says so. The file is named by CLUSTERPASS_TEST_CLOCK. Timers go
 * on as they do when the clock of a machine is set.
 */
import { existsSync, readFileSync } from 'node:fs';

const RealDate = Date;
const file = process.env.CLUSTERPASS_TEST_CLOCK ?? '';
let offset = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;

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
  offset = Number(readFileSync(file, 'utf8'));
  process.stdout.write(`the clock is off by ${offset} ms\n`);
});

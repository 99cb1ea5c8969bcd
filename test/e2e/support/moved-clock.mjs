/**
 * For `node --import`: moves the clock of the process by the milliseconds in a file. The file is read at the start, if
 * there is one, and at each SIGUSR2, which the process reports. CLUSTERPASS_TEST_CLOCK names the file. Timers do not
 * change, as when the clock of a machine is set.
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

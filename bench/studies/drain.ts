/**
 * B16: SIGTERM at 500 requests a second and with 200 watches. Exits with 1 when the rate was not reached, when a status
 * was not 201, when a watch ended without a bookmark, or when the process took more than 30 seconds to exit.
 *
 *   npm run bench -- drain [requests a second] [watches]
 */

import { createObjects } from '../../test/e2e/support/objects.ts';
import { startServer } from '../../test/e2e/support/server.ts';
import { stopUnderLoad } from '../../test/e2e/support/stop-under-load.ts';

const [rate = '500', watches = '200'] = process.argv.slice(2);
const SECONDS = 10;
/** Share of the rate that must be reached: the first requests find a cold server. */
const ENOUGH = 0.95;
const LONGEST_S = 30;

const server = await startServer({ args: ['--shutdown-delay', '3s', '--log-level', 'warn'] });
await createObjects(server);
const wanted = Number(rate);
const stopped = await stopUnderLoad(server, {
  watches: Number(watches),
  rate: wanted,
  before: wanted * SECONDS,
  noticedAfterMs: 1_000,
});
const bookmarks = stopped.endings.filter((type) => type === 'BOOKMARK').length;
console.log(`B16, ${rate} requests a second and ${watches} watches`);
console.log(`rate       ${stopped.reached.toFixed(0)} /s until the signal, ${stopped.whileStopping} requests after it`);
console.log(`status     ${JSON.stringify(stopped.answers)}`);
console.log(`watches    ${bookmarks} of ${watches} ended with a bookmark`);
console.log(`readiness  ${stopped.ready} while requests were still served`);
console.log(`exit       ${stopped.exitCode} after ${stopped.exitSeconds.toFixed(1)} s`);
const holds =
  stopped.reached >= ENOUGH * wanted &&
  Object.keys(stopped.answers).join() === '201' &&
  bookmarks === Number(watches) &&
  stopped.exitCode === 0 &&
  stopped.exitSeconds < LONGEST_S;
const goal = `at least ${ENOUGH * wanted} /s, only 201, all bookmarks, exit within ${LONGEST_S} s`;
console.log(`goal       ${goal}: ${holds ? 'holds' : 'MISSED'}`);
await server.destroy();
process.exit(holds ? 0 : 1);

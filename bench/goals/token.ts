import { clusterFleet } from '../support/cluster-fleet.ts';
import { compareRequests, type Settings } from '../support/compare.ts';
import { Driver } from '../support/driver.ts';
import { startFleetServer, startFloor } from '../support/processes.ts';
import type { Report } from '../support/report.ts';
import { startTokenMix } from '../support/token-mix.ts';
import { oneAccountRequest } from '../support/tokens.ts';

const CONNECTIONS = 16;
/**
 * Each side handles twice as many before it is measured: V8 still optimizes large functions after 60,000 tokens. Its
 * threads then took 8 to 30 µs of a token, and 9 µs after 120,000.
 */
const WARM_UP = 60_000;
const FLOOR = 'The floor parses the body, signs the same claims and responds; it checks neither caller nor permission.';

/** Token requests of one caller for one account, and of a whole fleet, both beside the same floor. */
export async function benchToken(settings: Settings): Promise<Report> {
  const driver = new Driver();
  const one = await startFleetServer(clusterFleet({ clusters: 1_000, bindings: 1_000 }));
  const { request, sample } = await oneAccountRequest(one);
  const floor = await startFloor('token', Buffer.from(JSON.stringify(sample)));
  const oneRow = await compareRequests(
    {
      name: 'token, one account',
      unit: 'tokens',
      about: `One caller repeats one token request on ${CONNECTIONS} connections. ${FLOOR}`,
      goal: { cpuShare: 0.6 },
    },
    {
      driver,
      server: one,
      floor,
      work: { requests: { same: request }, connections: CONNECTIONS },
      settings,
      warmUp: WARM_UP,
    },
  );
  await one.end();
  const size = { clusters: 1_000, accounts: 10_000, bindings: 1_000 };
  const mix = await startTokenMix(size, settings.progress);
  const mixRow = await compareRequests(
    {
      name: 'token, fleet mix',
      unit: 'tokens',
      about:
        '200 callers, half with static and half with issued tokens, request tokens of 10,000 accounts in 1,000 ' +
        'clusters, with 40 audiences and 40 lifetimes. Bindings of 50 teams with cluster selectors allow it. Two ' +
        `requests for one account are at least 5,000 requests apart. ${CONNECTIONS} connections, the same floor.`,
      goal: { cpuShare: 0.5 },
    },
    {
      driver,
      server: mix.server,
      floor,
      work: { requests: mix.requests, connections: CONNECTIONS },
      settings,
      warmUp: WARM_UP,
    },
  );
  return { rows: [oneRow, mixRow] };
}

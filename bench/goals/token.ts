import { clusterFleet } from '../support/cluster-fleet.ts';
import { Driver } from '../support/driver.ts';
import { compareRequests, type Figure, type Settings } from '../support/measure.ts';
import { startFleetServer, startFloor } from '../support/processes.ts';
import { oneAccountRequest, startTokenMix } from '../support/token-requests.ts';

const CONNECTIONS = 16;
/**
 * Each side handles twice as many before it is measured: V8 still optimizes large functions after 60,000 tokens. Its
 * threads then took 8 to 30 µs of a token, and 9 µs after 120,000.
 */
const WARM_UP = 60_000;
/** 200 callers, half with static and half with issued tokens, 40 audiences and 40 lifetimes (`token-fleet.ts`). */
const MIX = { clusters: 1_000, accounts: 10_000, bindings: 1_000 };

/**
 * Token requests of one caller for one account, and of a whole fleet. The floor of both parses the body, signs the
 * same claims and responds; it checks neither caller nor permission.
 */
export async function run(settings: Settings): Promise<Figure[]> {
  const driver = new Driver();
  const one = await startFleetServer(clusterFleet({ clusters: 1_000, bindings: 1_000 }));
  const { request, sample } = await oneAccountRequest(one);
  const floor = await startFloor('token', Buffer.from(JSON.stringify(sample)));
  const common = { driver, floor, settings, warmUp: WARM_UP };
  const oneAccount = await compareRequests('token, one account', 0.6, {
    ...common,
    server: one,
    work: { requests: { same: request }, connections: CONNECTIONS },
  });
  await one.end();
  const { server, requests } = await startTokenMix(MIX);
  const mix = await compareRequests('token, fleet mix', 0.5, {
    ...common,
    server,
    work: { requests, connections: CONNECTIONS },
  });
  return [oneAccount, mix];
}

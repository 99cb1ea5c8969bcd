import { requestText } from '../support/client.ts';
import { lowerPriority } from '../support/cpu.ts';
import { Driver, type Requests, requestFile } from '../support/driver.ts';
import { type Figure, percentile, type Settings } from '../support/measure.ts';
import { CLUSTERS_PATH, clusterName } from '../support/objects.ts';
import type { FleetServer } from '../support/processes.ts';
import { startTokenMix } from '../support/token-requests.ts';
import { numberedPatch, watchRequest } from '../support/watching.ts';

/** Enough requests of each kind for a p99, also of the rarest. */
const MIN_SECONDS = 20;
const WARM_UP_SECONDS = 10;
const CONNECTIONS = 16;

const CLUSTERS = 10_000;
const ACCOUNTS = 10_000;
const WATCHERS = 500;

/**
 * How long requests take at a stated load: p99 in seconds, the boundary of a bucket of the histogram, and calls a
 * second. docs/performance.md and the alerts in deploy/prometheus/rules.yaml state the same.
 */
export const OBJECTIVES = {
  tokens: { name: 'token requests', seconds: 0.2, rate: 200 },
  reads: { name: 'reads of one object', seconds: 0.1, rate: 100 },
  lists: { name: 'lists', seconds: 1, rate: 10 },
  writes: { name: 'writes of one object', seconds: 0.4, rate: 20 },
};

type Name = keyof typeof OBJECTIVES;

/** The requests that are the same in every round. */
async function requestsOf(server: FleetServer): Promise<Readonly<Record<'reads' | 'lists', Requests>>> {
  const { adminToken: token } = server;
  const get = (path: string): string => requestText('GET', path, { token });
  const some = Array.from({ length: 500 }, (_, index) => get(`${CLUSTERS_PATH}/${clusterName(index * 17)}`));
  const lists = ['?limit=500', '?labelSelector=team%3Dteam-07'].map((query) => get(`/auth/v1/clusters${query}`));
  return { reads: await requestFile(some), lists: await requestFile(lists) };
}

/** The p99 of each objective while all of the stated load is served at once. */
export async function run({ seconds }: Settings): Promise<Figure[]> {
  const { server, requests: tokens } = await startTokenMix({ clusters: CLUSTERS, accounts: ACCOUNTS, bindings: 1_000 });
  const same = { tokens, ...(await requestsOf(server)) };
  const watchers = new Driver();
  // Clients run on other machines. Here they get the processor time that the server leaves.
  const drivers = new Map(Object.keys(OBJECTIVES).map((name) => [name as Name, new Driver()]));
  for (const { pid } of [watchers, ...drivers.values()]) lowerPriority(pid);
  const { port } = server;
  const request = await watchRequest(server, server.adminToken);
  await watchers.send({ do: 'watch', port, connections: WATCHERS, request });
  for (const driver of drivers.values()) await driver.send({ do: 'connect', port, connections: CONNECTIONS });
  const serve = async (forSeconds: number): Promise<ReadonlyMap<Name, readonly number[]>> =>
    new Map(
      await Promise.all(
        [...drivers].map(async ([name, driver]): Promise<[Name, readonly number[]]> => {
          const { rate } = OBJECTIVES[name];
          // A patch with the text of an earlier round would change nothing.
          const requests = name === 'writes' ? { numbered: numberedPatch(server) } : same[name];
          const work = { requests, connections: CONNECTIONS, total: Math.round(rate * forSeconds), rate };
          return [name, (await driver.work(work)).milliseconds];
        }),
      ),
    );
  await serve(WARM_UP_SECONDS);
  const before = server.cpu();
  const measured = Math.max(MIN_SECONDS, seconds * 10);
  const times = await serve(measured);
  const busy = (server.cpu() - before) / 1e6 / measured;
  return [
    ...[...times].map(([name, milliseconds]) => ({
      name: `p99 of ${OBJECTIVES[name].name}, ${OBJECTIVES[name].rate} a second`,
      value: percentile(milliseconds, 0.99),
      unit: 'ms',
      limit: OBJECTIVES[name].seconds * 1000,
    })),
    { name: `processors in use, with ${WATCHERS} watchers`, value: busy, unit: '' },
  ];
}

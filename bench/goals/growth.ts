import { setTimeout } from 'node:timers/promises';
import { call, expectSuccess, requestText } from '../support/client.ts';
import { checkedList, clusterFleet, type ListWork, listWorks } from '../support/cluster-fleet.ts';
import { Driver, type Requests } from '../support/driver.ts';
import { type Figure, grown, median, type Point, type Settings } from '../support/measure.ts';
import { type FleetServer, startFleetServer } from '../support/processes.ts';
import { oneAccountRequest, startTokenMix } from '../support/token-requests.ts';

const CLUSTERS = [1_000, 10_000, 100_000];
const BINDINGS = [10, 1_000, 10_000];
const ACCOUNTS = [100, 1_000, 10_000];
/** The cost at the end of a curve, divided by that at its start, is at most this. */
const LIMIT = 1.5;

/** V8 compiles for thousands of requests, in threads whose CPU time counts. */
const TOKENS = { connections: 16, total: 5_000, warmUp: 60_000 };

/** How the cost of a request grows with the clusters, the bindings and the accounts. */
export async function run({ rounds, progress }: Settings): Promise<Figure[]> {
  const driver = new Driver();
  const curves = new Map<string, { readonly name: string; readonly axis: string; readonly points: Point[] }>();
  const add = (axis: string, name: string, x: number, y: number): void => {
    const curve = curves.get(`${axis} ${name}`) ?? { name, axis, points: [] };
    curve.points.push({ x, y });
    curves.set(`${axis} ${name}`, curve);
  };
  /** CPU time of one request in microseconds: the median of the rounds. */
  const cost = async (
    server: FleetServer,
    requests: Requests,
    { connections, total, warmUp }: { connections: number; total: number; warmUp: number },
  ): Promise<number> => {
    await driver.run(server, { requests, connections, total: warmUp });
    const costs = [];
    for (let round = 0; round < rounds; round++) {
      costs.push((await driver.run(server, { requests, connections, total })).cpuPerUnit);
    }
    return median(costs);
  };
  const sizeFor = (connections: number) => ({ connections, total: connections * 15, warmUp: connections * 30 });
  const addToken = async (server: FleetServer, axis: string, x: number): Promise<void> => {
    const { request } = await oneAccountRequest(server);
    add(axis, 'token', x, await cost(server, { same: request }, TOKENS));
  };
  const addList = async (server: FleetServer, list: ListWork, axis: string, x: number): Promise<void> => {
    await checkedList(server, list);
    const same = requestText('GET', list.path, list);
    add(axis, list.name, x, await cost(server, { same }, sizeFor(list.connections)));
  };

  for (const clusters of CLUSTERS) {
    const server = await startFleetServer(clusterFleet({ clusters, bindings: 1_000 }));
    const { page, selector, limited } = listWorks(clusters);
    for (const list of [page, selector, limited]) await addList(server, list, 'clusters', clusters);
    await addToken(server, 'clusters', clusters);
    progress(`${clusters} clusters: measured`);
    await server.end();
  }
  for (const bindings of BINDINGS) {
    const server = await startFleetServer(clusterFleet({ clusters: 1_000, bindings }));
    await bindingStatusesWritten(server);
    await addToken(server, 'bindings', bindings);
    await addList(server, listWorks(1_000).limited, 'bindings', bindings);
    progress(`${bindings} bindings: measured`);
    await server.end();
  }
  for (const accounts of ACCOUNTS) {
    const { server, requests } = await startTokenMix({ clusters: 1_000, accounts, bindings: 1_000 });
    // Long enough to send each of 10,000 accounts one request in the warm-up, and half of them one in each round.
    const y = await cost(server, requests, { connections: 16, total: 5_000, warmUp: 10_000 });
    add('accounts', 'token, fleet mix', accounts, y);
    await server.end();
  }
  return [...curves.values()].map(({ name, axis, points }) => grown(name, axis, points, LIMIT));
}

/** The leader writes the status of each new binding: work that a fleet at rest does not have. */
async function bindingStatusesWritten(server: FleetServer): Promise<void> {
  const path = '/apis/clusterpass.dev/v1alpha1/fleetrolebindings';
  for (;;) {
    const { items } = await expectSuccess<{ items: { status?: object }[] }>(call(server, 'GET', path));
    if (items.every(({ status }) => status !== undefined)) return;
    await setTimeout(500);
  }
}

import { setTimeout } from 'node:timers/promises';
import { FLEET_BINDINGS } from '../../test/e2e/support/bindings.ts';
import { call, expectSuccess, requestText } from '../support/client.ts';
import { checkedList, clusterFleet, type ListWork, listWorks } from '../support/cluster-fleet.ts';
import { Driver } from '../support/driver.ts';
import { type Figure, grown, type Settings, type SizedWork } from '../support/measure.ts';
import { type FleetServer, startFleetServer } from '../support/processes.ts';
import { oneAccountRequest } from '../support/token-requests.ts';

/** V8 compiles for thousands of requests, in threads whose CPU time counts. */
async function tokenWork(server: FleetServer): Promise<SizedWork> {
  const { request } = await oneAccountRequest(server);
  return { requests: { same: request }, connections: 16, total: 5_000, warmUp: 60_000 };
}

const listWork =
  (list: ListWork) =>
  async (server: FleetServer): Promise<SizedWork> => {
    await checkedList(server, list);
    const { connections } = list;
    const requests = { same: requestText('GET', list.path, list) };
    return { requests, connections, total: connections * 15, warmUp: connections * 30 };
  };

const { page, selector, limited } = listWorks(1_000);
const TOKEN = { name: 'token', workFor: tokenWork };
const work = (list: ListWork) => ({ name: list.name, workFor: listWork(list) });
const LIMITED = work(limited);

const AXES = [
  {
    axis: 'clusters',
    large: [100_000, 1_000],
    small: [1_000, 1_000],
    works: [work(page), work(selector), LIMITED, TOKEN],
  },
  { axis: 'bindings', large: [1_000, 10_000], small: [1_000, 10], works: [TOKEN, LIMITED] },
] as const;

/** How the cost of a request grows with the clusters and the bindings. */
export async function run(settings: Settings): Promise<Figure[]> {
  const driver = new Driver();
  const figures: Figure[] = [];
  const start = async ([clusters, bindings]: readonly [number, number]): Promise<FleetServer> => {
    const server = await startFleetServer(clusterFleet({ clusters, bindings }));
    await bindingStatusesWritten(server);
    return server;
  };
  for (const { axis, large, small, works } of AXES) {
    const servers = [await start(large), await start(small)] as const;
    for (const { name, workFor } of works) {
      const sides = [
        { server: servers[0], work: await workFor(servers[0]) },
        { server: servers[1], work: await workFor(servers[1]) },
      ] as const;
      figures.push(await grown(`growth of ${name}, by ${axis}`, sides, driver, settings));
    }
    for (const { end } of servers) await end();
  }
  return figures;
}

/** The leader writes the status of each new binding: work that a fleet at rest does not have. */
async function bindingStatusesWritten(server: FleetServer): Promise<void> {
  for (;;) {
    const { items } = await expectSuccess<{ items: { status?: object }[] }>(call(server, 'GET', FLEET_BINDINGS));
    if (items.every(({ status }) => status !== undefined)) return;
    await setTimeout(500);
  }
}

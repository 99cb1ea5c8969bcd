import { mkdir, writeFile } from 'node:fs/promises';
import { requestText } from '../support/client.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import type { Settings } from '../support/compare.ts';
import { memoryOf } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import type { Work } from '../support/driver-process.ts';
import { checkedList, type ListWork, listWorks } from '../support/lists.ts';
import { median } from '../support/numbers.ts';
import { PLOTS, plot } from '../support/plot.ts';
import { type FleetServer, startFleetServer } from '../support/processes.ts';
import type { Curve, Figure, Report } from '../support/report.ts';
import { startTokenMix } from '../support/token-mix.ts';
import { oneAccountRequest } from '../support/tokens.ts';

const CLUSTERS = [1_000, 10_000, 100_000];
const BINDINGS = [10, 1_000, 10_000];
const ACCOUNTS = [100, 1_000, 10_000];
/** The cost at the end of a curve, divided by that at its start, is at most this. */
const LIMIT = 1.5;

/** CPU time of one request in microseconds: the median of the rounds. */
async function costOf(
  driver: Driver,
  server: FleetServer,
  work: Work,
  { rounds, warmUp }: { rounds: number; warmUp: number },
): Promise<number> {
  await driver.run(server, { ...work, total: warmUp });
  const costs = [];
  for (let round = 0; round < rounds; round++) costs.push((await driver.run(server, work)).cpuPerUnit);
  return median(costs);
}

/** The points of several curves, by name. */
class Curves {
  readonly #points = new Map<string, { x: number; y: number }[]>();

  add(name: string, x: number, y: number): void {
    this.#points.set(name, [...(this.#points.get(name) ?? []), { x, y }]);
  }

  list(axis: string): Curve[] {
    return [...this.#points].map(([name, points]) => ({ name, axis, unit: 'us', points, limit: LIMIT }));
  }
}

/** How the cost of a request grows with the clusters, the bindings and the accounts. Writes plots for the documents. */
export async function benchGrowth({ rounds, progress }: Settings): Promise<Report> {
  const driver = new Driver();
  const [byClusters, byBindings, byAccounts] = [new Curves(), new Curves(), new Curves()];
  const figures: Figure[] = [];
  const cost = (server: FleetServer, request: string, connections: number): Promise<number> => {
    const total = connections * 15;
    const work = { requests: { same: request }, connections, total };
    return costOf(driver, server, work, { rounds, warmUp: total * 2 });
  };
  const tokenCost = async (server: FleetServer): Promise<number> =>
    cost(server, (await oneAccountRequest(server)).request, 16);
  const listCost = async (server: FleetServer, work: ListWork): Promise<number> => {
    await checkedList(server, work);
    return cost(server, requestText('GET', work.path, work), work.connections);
  };

  for (const clusters of CLUSTERS) {
    const server = await startFleetServer(clusterFleet({ clusters, bindings: 1_000 }));
    const text = `with ${clusters.toLocaleString('en')} clusters`;
    figures.push(
      { name: `CPU time of a start ${text}`, value: server.startCpuSeconds, unit: 's' },
      { name: `resident memory after a start ${text}`, value: memoryOf(server.pid).now, unit: 'MB' },
    );
    const { page, selector, limited } = listWorks(clusters);
    for (const work of [page, selector, limited]) {
      byClusters.add(work.name, clusters, await listCost(server, work));
    }
    byClusters.add('token', clusters, await tokenCost(server));
    progress?.(`${text}: measured`);
    await server.end();
  }
  for (const bindings of BINDINGS) {
    const server = await startFleetServer(clusterFleet({ clusters: 1_000, bindings }));
    byBindings.add('token', bindings, await tokenCost(server));
    const { limited } = listWorks(1_000);
    byBindings.add(limited.name, bindings, await listCost(server, limited));
    progress?.(`with ${bindings} bindings: measured`);
    await server.end();
  }
  for (const accounts of ACCOUNTS) {
    const { server, requests } = await startTokenMix({ clusters: 1_000, accounts, bindings: 1_000 }, progress);
    // Long enough to send each of 10,000 accounts one request in the warm-up, and half of them one in each round.
    const work = { requests, connections: 16, total: 5_000 };
    byAccounts.add('token, fleet mix', accounts, await costOf(driver, server, work, { rounds, warmUp: 10_000 }));
    await server.end();
  }

  const curves = {
    clusters: byClusters.list('clusters'),
    bindings: byBindings.list('bindings'),
    accounts: byAccounts.list('accounts'),
  };
  await mkdir(PLOTS, { recursive: true });
  for (const [axis, list] of Object.entries(curves)) {
    await writeFile(`${PLOTS}${axis}.svg`, plot(`CPU time of a request, by ${axis}`, list));
  }
  return { curves: Object.values(curves).flat(), figures };
}

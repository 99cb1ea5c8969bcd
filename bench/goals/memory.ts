import { requestText } from '../support/client.ts';
import { checkedList, clusterFleet, LIST, listWorks } from '../support/cluster-fleet.ts';
import { memoryOf } from '../support/cpu.ts';
import { Driver, type Requests } from '../support/driver.ts';
import type { Figure } from '../support/measure.ts';
import { startFleetServer } from '../support/processes.ts';
import { startTokenMix } from '../support/token-requests.ts';

/** Megabytes by clusters. 265 MB is a quarter of what kube-apiserver takes with as many objects. */
const LIMITS = [
  [10_000, 265],
  [100_000, 1024],
] as const;

const MIX_FLEET = { clusters: 10_000, accounts: 2_000, bindings: 1_000 };
const MIX_MS = 60_000;
/** After the mix. kube-apiserver and etcd take 768 MB together. */
const MIX_LIMIT = 300;

/** Resident memory after each kind of list was served once, and after a minute of everything at once. */
export async function run(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [clusters, limit] of LIMITS) {
    const server = await startFleetServer(clusterFleet({ clusters, bindings: 1_000 }));
    for (const work of Object.values(listWorks(clusters))) await checkedList(server, work);
    const name = `resident memory with ${clusters.toLocaleString('en')} clusters, after lists`;
    figures.push({ name, value: memoryOf(server.pid).now, unit: 'MB', limit });
    await server.end();
  }
  const value = await memoryAfterMix();
  figures.push({ name: 'resident memory after a minute of the whole mix', value, unit: 'MB', limit: MIX_LIMIT });
  return figures;
}

/** A minute of tokens, lists of all clusters by 16 clients, pages and selectors, all at once. */
async function memoryAfterMix(): Promise<number> {
  const { server, requests: tokens } = await startTokenMix(MIX_FLEET);
  const list = (query: string): Requests => ({
    same: requestText('GET', `${LIST}${query}`, { token: server.adminToken }),
  });
  const works = [
    { requests: tokens, connections: 16, total: 400 },
    { requests: list(''), connections: 16, total: 16 },
    { requests: list('?limit=500'), connections: 4, total: 20 },
    { requests: list('?labelSelector=team%3Dteam-01'), connections: 4, total: 20 },
  ];
  const until = performance.now() + MIX_MS;
  await Promise.all(
    works.map(async (work) => {
      const driver = new Driver();
      while (performance.now() < until) await driver.run(server, work);
    }),
  );
  return memoryOf(server.pid).now;
}

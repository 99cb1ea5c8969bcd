import { requestText } from '../support/client.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import type { Settings } from '../support/compare.ts';
import { memoryOf } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import type { Work } from '../support/driver-process.ts';
import { checkedList, LIST, listWorks } from '../support/lists.ts';
import { startFleetServer } from '../support/processes.ts';
import type { Figure, Report } from '../support/report.ts';
import { startTokenMix } from '../support/token-mix.ts';

/** Megabytes by clusters. 265 MB is a quarter of what kube-apiserver takes with as many objects. */
const LIMITS = [
  [10_000, 265],
  [100_000, 1024],
] as const;

/** After the mix. kube-apiserver and etcd take 768 MB together. */
const MIX_LIMIT = 300;
const MIX_MS = 60_000;

/** Resident memory after each kind of list was served once, and after a minute of everything at once. */
export async function benchMemory(_: Settings): Promise<Report> {
  const figures = [];
  for (const [clusters, limit] of LIMITS) {
    const server = await startFleetServer(clusterFleet({ clusters, bindings: 1_000 }));
    for (const work of Object.values(listWorks(clusters))) await checkedList(server, work);
    const { now, peak } = memoryOf(server.pid);
    const fleet = `with ${clusters.toLocaleString('en')} clusters`;
    figures.push({ name: `resident memory ${fleet}, after lists`, value: now, unit: 'MB', limit });
    figures.push({ name: `peak of resident memory ${fleet}`, value: peak, unit: 'MB' });
    await server.end();
  }
  figures.push(await memoryAfterMix());
  return { figures };
}

/** A minute of tokens of 2,000 accounts, lists of all 10,000 clusters by 16 clients, pages and selectors. */
async function memoryAfterMix(): Promise<Figure> {
  const { server, requests } = await startTokenMix({ clusters: 10_000, accounts: 2_000, bindings: 1_000 });
  const list = (query: string): Work['requests'] => ({
    same: requestText('GET', `${LIST}${query}`, { token: server.adminToken }),
  });
  const works: Work[] = [
    { requests, connections: 16, total: 400 },
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
  const { now } = memoryOf(server.pid);
  await server.end();
  return { name: 'resident memory after a minute of the whole mix', value: now, unit: 'MB', limit: MIX_LIMIT };
}

import { clusterFleet } from '../support/cluster-fleet.ts';
import type { Settings } from '../support/compare.ts';
import { memoryOf } from '../support/cpu.ts';
import { checkedList, listWorks } from '../support/lists.ts';
import { startFleetServer } from '../support/processes.ts';
import type { Figure, Report } from '../support/report.ts';
import { startTokenMix } from '../support/token-mix.ts';
import { runWholeMix, WHOLE_MIX_FLEET } from '../support/whole-mix.ts';

/** Megabytes by clusters. 265 MB is a quarter of what kube-apiserver takes with as many objects. */
const LIMITS = [
  [10_000, 265],
  [100_000, 1024],
] as const;

/** After the mix. kube-apiserver and etcd take 768 MB together. */
const MIX_LIMIT = 300;

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

async function memoryAfterMix(): Promise<Figure> {
  const { server, requests } = await startTokenMix(WHOLE_MIX_FLEET);
  await runWholeMix(server, requests, server.adminToken);
  const { now } = memoryOf(server.pid);
  await server.end();
  return { name: 'resident memory after a minute of the whole mix', value: now, unit: 'MB', limit: MIX_LIMIT };
}

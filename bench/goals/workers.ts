import { requestText } from '../support/client.ts';
import { checkedList, clusterFleet, type ListWork, listWorks } from '../support/cluster-fleet.ts';
import { childrenOf, cpuOf } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import {
  alternate,
  cpuOfRound,
  type Figure,
  medians,
  type Round,
  ratios,
  type Settings,
  spread,
} from '../support/measure.ts';
import { startFleetServer } from '../support/processes.ts';

const CLUSTERS = 1_000;
/** These three are for each worker. */
const CONNECTIONS = 32;
const REQUESTS = 1_600;
const WARM_UP = 6_400;

/** Gives the CPU time of the busiest process for each request: with enough processors, it limits the rate. */
async function startWorkers(workers: number, list: ListWork): Promise<(perWorker: number) => Promise<Round>> {
  const serveArgs = ['--workers', String(workers)];
  const server = await startFleetServer(clusterFleet({ clusters: CLUSTERS, bindings: 1_000 }), { serveArgs });
  await checkedList(server, list);
  const driver = new Driver();
  const processes = [server.pid, ...childrenOf(server.pid)];
  const connections = workers * CONNECTIONS;
  const work = { requests: { same: requestText('GET', list.path, list) }, connections };
  return async (perWorker) => {
    const before = processes.map(cpuOf);
    const total = workers * perWorker;
    const { rate } = await driver.run(server, { ...work, total });
    const used = processes.map((pid, index) => cpuOf(pid) - (before[index] ?? 0));
    return { rate, cpuPerUnit: Math.max(...used) / total };
  };
}

/** Lists by a label selector, with one worker and with two. The driver shares the processors with them. */
export async function run(settings: Settings): Promise<Figure[]> {
  const { selector } = listWorks(CLUSTERS);
  const [one, two] = [await startWorkers(1, selector), await startWorkers(2, selector)];
  for (const round of [one, two]) await round(WARM_UP);
  const rounds = await alternate(
    settings,
    () => two(REQUESTS),
    () => one(REQUESTS),
  );
  return [
    {
      name: 'lists of two workers beside one, by CPU of the busiest process',
      ...spread(ratios(rounds, ({ cpuPerUnit }) => 1 / cpuPerUnit)),
      unit: 'times',
      least: 1.6,
      note: `${medians(rounds, cpuOfRound)} us`,
    },
  ];
}

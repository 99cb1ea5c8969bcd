import { requestText } from '../support/client.ts';
import { checkedList, clusterFleet, type ListWork, listWorks } from '../support/cluster-fleet.ts';
import { childrenOf, confine, cpuOf, processors } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import { alternate, type Figure, medians, type Round, ratios, type Settings, spread } from '../support/measure.ts';
import { startFleetServer } from '../support/processes.ts';

const CLUSTERS = 1_000;
/** These three are for each worker. */
const CONNECTIONS = 32;
const REQUESTS = 1_600;
const WARM_UP = 6_400;

/**
 * A server with n workers on n processors, and n drivers on the same processors. Each worker then shares its processor
 * with one driver, for any n. One driver for two workers would limit their rate.
 */
async function startWorkers(workers: number, list: ListWork): Promise<(perDriver: number) => Promise<Round>> {
  const serveArgs = ['--workers', String(workers)];
  const server = await startFleetServer(clusterFleet({ clusters: CLUSTERS, bindings: 1_000 }), { serveArgs });
  const drivers = Array.from({ length: workers }, () => new Driver());
  const processes = [server.pid, ...childrenOf(server.pid)];
  for (const pid of [...processes, ...drivers.map((driver) => driver.pid)]) confine(pid, workers);
  await checkedList(server, list);
  const work = { requests: { same: requestText('GET', list.path, list) }, connections: CONNECTIONS };
  const all = (command: (driver: Driver) => Promise<unknown>): Promise<unknown> => Promise.all(drivers.map(command));
  // Requests a second, and CPU time of the busiest process for each request: with enough processors, that process
  // limits the rate. The connections are opened before; the kernel distributes them over the workers.
  return async (perDriver) => {
    await all((driver) => driver.send({ do: 'connect', port: server.port, connections: CONNECTIONS }));
    const before = processes.map(cpuOf);
    const begun = performance.now();
    await all((driver) => driver.work({ ...work, total: perDriver }));
    const seconds = (performance.now() - begun) / 1000;
    const used = processes.map((pid, index) => cpuOf(pid) - (before[index] ?? 0));
    await all((driver) => driver.send({ do: 'close' }));
    const total = perDriver * workers;
    return { rate: total / seconds, cpuPerUnit: Math.max(...used) / total };
  };
}

/** Lists by a label selector, with one worker on one processor and with two workers on two. */
export async function run(settings: Settings): Promise<Figure[]> {
  if (processors().length < 2) throw new Error('the benchmark needs two processors, and this process may use one');
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
      name: 'rate of lists, two workers on two processors beside one on one',
      ...spread(ratios(rounds, (round) => round.rate)),
      unit: 'times',
      note: `${medians(rounds, (round) => round.rate)} a second`,
    },
    {
      name: 'the same by CPU of the busiest process, which limits the rate',
      ...spread(ratios(rounds, ({ cpuPerUnit }) => 1 / cpuPerUnit)),
      unit: 'times',
      least: 1.6,
    },
  ];
}

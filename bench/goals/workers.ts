import { requestText } from '../support/client.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { alternate, type Round, type Settings } from '../support/compare.ts';
import { childrenOf, confine, cpuOf, processors } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import type { Command } from '../support/driver-process.ts';
import { checkedList, listWorks } from '../support/lists.ts';
import { median } from '../support/numbers.ts';
import { type FleetServer, startFleetServer } from '../support/processes.ts';
import type { Report } from '../support/report.ts';

const CLUSTERS = 1_000;
/** These three are for each worker. */
const CONNECTIONS = 32;
const REQUESTS = 1_600;
const WARM_UP = 6_400;

/**
 * A server with n workers on n processors, and n drivers on the same processors. Each worker then shares its processor
 * with one driver, for any n. One driver for two workers would limit their rate.
 */
class WorkerServer {
  readonly server: FleetServer;
  readonly #drivers: readonly Driver[];
  readonly #processes: readonly number[];

  private constructor(server: FleetServer, drivers: readonly Driver[]) {
    this.server = server;
    this.#drivers = drivers;
    this.#processes = [server.pid, ...childrenOf(server.pid)];
  }

  static async start(workers: number): Promise<WorkerServer> {
    const serveArgs = ['--workers', String(workers)];
    const server = await startFleetServer(clusterFleet({ clusters: CLUSTERS, bindings: 1_000 }), { serveArgs });
    const drivers = Array.from({ length: workers }, () => new Driver());
    const started = new WorkerServer(server, drivers);
    for (const pid of [...started.#processes, ...drivers.map((driver) => driver.pid)]) confine(pid, workers);
    return started;
  }

  /**
   * Requests a second, and CPU time of the busiest process for each request: with enough processors, that process
   * limits the rate. The connections are opened before; the kernel distributes them over the workers.
   */
  async round(request: string, perDriver: number): Promise<Round> {
    const total = perDriver * this.#drivers.length;
    const { port } = this.server;
    await this.#send({ do: 'connect', port, connections: CONNECTIONS });
    const before = this.#processes.map((pid) => cpuOf(pid));
    const begun = performance.now();
    await this.#send({ do: 'work', requests: { same: request }, connections: CONNECTIONS, total: perDriver });
    const seconds = (performance.now() - begun) / 1000;
    const used = this.#processes.map((pid, index) => cpuOf(pid) - (before[index] ?? 0));
    await this.#send({ do: 'close' });
    return { rate: total / seconds, cpuPerUnit: Math.max(...used) / total };
  }

  async #send(command: Command): Promise<void> {
    await Promise.all(this.#drivers.map((driver) => driver.send(command)));
  }
}

/** Lists by a label selector, with one worker on one processor and with two workers on two. */
export async function benchWorkers(settings: Settings): Promise<Report> {
  if (processors().length < 2) throw new Error('the benchmark needs two processors, and this process may use one');
  const { selector } = listWorks(CLUSTERS);
  const request = requestText('GET', selector.path, selector);
  const [one, two] = [await WorkerServer.start(1), await WorkerServer.start(2)];
  for (const started of [one, two]) {
    await checkedList(started.server, selector);
    await started.round(request, WARM_UP);
  }
  const { ours, floor } = await alternate(
    settings,
    () => two.round(request, REQUESTS),
    () => one.round(request, REQUESTS),
  );
  const times = (of: (round: Round) => number): number =>
    median(ours.map((round, index) => of(round) / of(floor[index] ?? round)));
  const rate = (rounds: readonly Round[]): number => median(rounds.map((round) => round.rate));
  const rateByCpu = (rounds: readonly Round[]): number => 1e6 / median(rounds.map(({ cpuPerUnit }) => cpuPerUnit));
  const byCpu = 'by CPU of the busiest process';
  return {
    figures: [
      { name: 'lists, one worker on one processor', value: rate(floor), unit: '/s' },
      { name: 'lists, two workers on two processors', value: rate(ours), unit: '/s' },
      { name: 'two workers beside one', value: times((round) => round.rate), unit: 'times' },
      { name: `lists, one worker, ${byCpu}`, value: rateByCpu(floor), unit: '/s' },
      { name: `lists, two workers, ${byCpu}`, value: rateByCpu(ours), unit: '/s' },
      {
        name: `two workers beside one, ${byCpu}`,
        value: times(({ cpuPerUnit }) => 1 / cpuPerUnit),
        unit: 'times',
        least: 1.6,
      },
    ],
  };
}

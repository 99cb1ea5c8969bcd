import { checkedList, listWorks } from './list.ts';
import { requestText } from './support/client.ts';
import { alternate, type Round, type Settings } from './support/compare.ts';
import { childrenOf, confine, cpuOf, processors } from './support/cpu.ts';
import { median } from './support/numbers.ts';
import { type Desk, Driver, startDesk } from './support/processes.ts';
import type { Report } from './support/report.ts';

const CLUSTERS = 1_000;
/** For each worker, as are the other two. */
const CONNECTIONS = 32;
const REQUESTS = 1_600;
/** Each compiles for itself. */
const WARM_UP = 6_400;

/**
 * So many workers on as many processors, each of which has a driver too: what a driver takes from a worker is then the same however
 * many there are. One driver for all would be asked for twice as much by two workers, and be what everybody waits for.
 */
class Team {
  readonly #desk: Desk;
  readonly #drivers: readonly Driver[];
  readonly #processes: readonly number[];

  private constructor(desk: Desk, drivers: readonly Driver[]) {
    this.#desk = desk;
    this.#drivers = drivers;
    this.#processes = [desk.pid, ...childrenOf(desk.pid)];
  }

  static async start(workers: number): Promise<Team> {
    const desk = await startDesk({ clusters: CLUSTERS, bindings: 1_000 }, [], ['--workers', String(workers)]);
    const team = new Team(
      desk,
      Array.from({ length: workers }, () => new Driver()),
    );
    for (const pid of [...team.#processes, ...team.#drivers.map(({ pid }) => pid)]) confine(pid, workers);
    return team;
  }

  get desk(): Desk {
    return this.#desk;
  }

  /**
   * Requests in a second by the clock, and what the busiest process computed for each: with processors enough, that is what everybody
   * would wait for. Connections are dealt out among the workers by the kernel, and opened before: handshakes are not measured.
   */
  async round(request: string, perDriver: number): Promise<Round> {
    const total = perDriver * this.#drivers.length;
    const { port } = this.#desk;
    await this.#order({ do: 'connect', port, connections: CONNECTIONS });
    const before = this.#processes.map((pid) => cpuOf(pid));
    const begun = performance.now();
    await this.#order({ do: 'work', request: [request], connections: CONNECTIONS, total: perDriver });
    const seconds = (performance.now() - begun) / 1000;
    const used = this.#processes.map((pid, index) => cpuOf(pid) - (before[index] ?? 0));
    await this.#order({ do: 'close' });
    return { rate: total / seconds, cpuPerUnit: Math.max(...used) / total };
  }

  async #order(order: Parameters<Driver['order']>[0]): Promise<void> {
    await Promise.all(this.#drivers.map((driver) => driver.order(order)));
  }
}

/** What a second worker adds, where it has a second processor. */
export async function benchWorkers(settings: Settings): Promise<Report> {
  if (processors().length < 2) throw new Error('two workers want two processors, and this machine lets us use one');
  const work = listWorks(CLUSTERS).find(({ name }) => name.includes('selector'));
  if (work === undefined) throw new Error('there is no list by selector');
  const request = requestText('GET', work.path, work);
  const [one, two] = [await Team.start(1), await Team.start(2)];
  for (const team of [one, two]) {
    await checkedList(team.desk, work);
    await team.round(request, WARM_UP);
  }
  const { ours, floor } = await alternate(
    settings,
    () => two.round(request, REQUESTS),
    () => one.round(request, REQUESTS),
  );
  const times = (of: (round: Round) => number): number =>
    median(ours.map((round, index) => of(round) / of(floor[index] ?? round)));
  const rate = (rounds: readonly Round[]): number => median(rounds.map(({ rate }) => rate));
  const computed = (rounds: readonly Round[]): number => 1e6 / median(rounds.map(({ cpuPerUnit }) => cpuPerUnit));
  return {
    figures: [
      { name: 'lists by a selector, a worker and a driver on one processor', value: rate(floor), unit: '/s' },
      { name: 'lists by a selector, two of each on two', value: rate(ours), unit: '/s' },
      { name: 'that is, times one', value: times(({ rate }) => rate), unit: '' },
      { name: 'one worker, by what it computed', value: computed(floor), unit: '/s' },
      { name: 'two workers, by what the busier one computed', value: computed(ours), unit: '/s' },
      { name: 'two workers give, times one', value: times(({ cpuPerUnit }) => 1 / cpuPerUnit), unit: '', least: 1.6 },
    ],
  };
}

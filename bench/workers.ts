import { listWorks } from './list.ts';
import { requestText } from './support/client.ts';
import type { Settings } from './support/compare.ts';
import { childrenOf, cpuOf } from './support/cpu.ts';
import { median } from './support/numbers.ts';
import { type Desk, Driver, startDesk } from './support/processes.ts';
import type { Report } from './support/report.ts';

const CONNECTIONS = 64;
const TOTAL = 1_600;
/** For each process, however many share the work: each compiles for itself. */
const WARM_UP = 6_400;

/**
 * Requests in a second, if driver and server had processors enough: what is done, by what the busiest process of the
 * server computed for it, since that one is what the others would wait for. Connections are dealt out among the
 * processes by the kernel, so several rounds with connections of their own are put together.
 */
async function rate(desk: Desk, driver: Driver, request: string, rounds: number, workers: number): Promise<number> {
  const processes = [desk.pid, ...childrenOf(desk.pid)];
  const work = { request: [request] as const, connections: CONNECTIONS, total: TOTAL };
  await driver.run(desk, { ...work, total: WARM_UP * workers });
  const rates = [];
  for (let round = 0; round < rounds; round++) {
    const before = processes.map((pid) => cpuOf(pid));
    await driver.run(desk, work);
    const used = processes.map((pid, index) => cpuOf(pid) - (before[index] ?? 0));
    rates.push(TOTAL / (Math.max(...used) / 1e6));
  }
  return median(rates);
}

/** What a second worker adds. */
export async function benchWorkers({ rounds }: Settings): Promise<Report> {
  const clusters = 1_000;
  const work = listWorks(clusters).find(({ name }) => name.includes('selector'));
  if (work === undefined) throw new Error('there is no list by selector');
  const request = requestText('GET', work.path, work);
  const driver = new Driver();
  const rates: number[] = [];
  for (const workers of [1, 2]) {
    const desk = await startDesk({ clusters, bindings: 1_000 }, [], ['--workers', String(workers)]);
    rates.push(await rate(desk, driver, request, rounds, workers));
    await desk.end();
  }
  const [one = Number.NaN, two = Number.NaN] = rates;
  return {
    figures: [
      { name: 'lists by a selector, one worker', value: one, unit: '/s' },
      { name: 'lists by a selector, two workers', value: two, unit: '/s' },
      { name: 'two workers give, times one', value: two / one, unit: '', least: 1.6 },
    ],
  };
}

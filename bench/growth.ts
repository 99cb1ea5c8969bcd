import { mkdir, writeFile } from 'node:fs/promises';
import { checkedList, listWorks } from './list.ts';
import { requestText } from './support/client.ts';
import type { Settings } from './support/compare.ts';
import { memoryOf } from './support/cpu.ts';
import { median } from './support/numbers.ts';
import { PLOTS, plot } from './support/plot.ts';
import { type Desk, Driver, startDesk } from './support/processes.ts';
import type { Curve, Figure, Report } from './support/report.ts';
import { callerToken, tokenRequest } from './token.ts';

const CLUSTERS = [1_000, 10_000, 100_000];
const BINDINGS = [10, 1_000, 10_000];

/** What one request costs the server, in microseconds of CPU: the median of the rounds. */
async function cost(driver: Driver, desk: Desk, request: string, connections: number, rounds: number): Promise<number> {
  const run = async (total: number): Promise<number> =>
    (await driver.run(desk, { request: [request], connections, total })).cpuPerUnit;
  const total = connections * 15;
  await run(total * 2);
  const costs = [];
  for (let round = 0; round < rounds; round++) costs.push(await run(total));
  return median(costs);
}

/** Costs by name, each a list of points. */
class Curves {
  readonly #points = new Map<string, { x: number; y: number }[]>();

  add(name: string, x: number, y: number): void {
    this.#points.set(name, [...(this.#points.get(name) ?? []), { x, y }]);
  }

  list(axis: string, unit: string, limit: number): Curve[] {
    return [...this.#points].map(([name, points]) => ({ name, axis, unit, points, limit }));
  }
}

/** How the cost of a request grows with the fleet and with the bindings. Writes the plots of docs/performance.md. */
export async function benchGrowth({ rounds }: Settings): Promise<Report> {
  const driver = new Driver();
  const byClusters = new Curves();
  const byBindings = new Curves();
  const figures: Figure[] = [];
  for (const clusters of CLUSTERS) {
    const desk = await startDesk({ clusters, bindings: 1_000 });
    figures.push(
      { name: `CPU of a start with ${clusters} clusters`, value: desk.startCpuSeconds, unit: 's' },
      { name: `memory after a start with ${clusters} clusters`, value: memoryOf(desk.pid).now, unit: 'MB' },
    );
    for (const work of listWorks(clusters)) {
      if (work.items === clusters) continue;
      await checkedList(desk, work);
      const request = requestText('GET', work.path, work);
      byClusters.add(work.name, clusters, await cost(driver, desk, request, work.connections, rounds));
    }
    byClusters.add('token', clusters, await cost(driver, desk, tokenRequest(await callerToken(desk)), 16, rounds));
    await desk.end();
  }
  for (const bindings of BINDINGS) {
    const desk = await startDesk({ clusters: 1_000, bindings });
    byBindings.add('token', bindings, await cost(driver, desk, tokenRequest(await callerToken(desk)), 16, rounds));
    const own = listWorks(1_000).find(({ name }) => name.includes('own'));
    if (own !== undefined) {
      const request = requestText('GET', own.path, own);
      byBindings.add(own.name, bindings, await cost(driver, desk, request, own.connections, rounds));
    }
    await desk.end();
  }
  const [clusters, bindings] = [byClusters.list('clusters', 'us', 1.5), byBindings.list('bindings', 'us', 1.5)];
  await mkdir(PLOTS, { recursive: true });
  await writeFile(`${PLOTS}clusters.svg`, plot('CPU of a request, by clusters', clusters));
  await writeFile(`${PLOTS}bindings.svg`, plot('CPU of a request, by bindings', bindings));
  return { curves: [...clusters, ...bindings], figures };
}

import { clusterFleet } from '../support/cluster-fleet.ts';
import type { Figure, Settings } from '../support/measure.ts';
import { startFleetServer, startServerOn } from '../support/processes.ts';

const STARTS = 3;

/** From the start of the process until it serves; the best of up to three starts on the same data. */
export async function run({ rounds }: Settings): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [clusters, goal] of [[10_000, {}] as const, [100_000, { limit: 10 }] as const]) {
    const fleet = clusterFleet({ clusters, bindings: 1_000 });
    const first = await startFleetServer(fleet);
    await first.end();
    const starts = [];
    for (let round = 0; round < Math.min(rounds, STARTS); round++) {
      const server = await startServerOn(first.dataDir, fleet.callers);
      starts.push(server);
      await server.end();
    }
    const text = `of a start with ${clusters.toLocaleString('en')} clusters`;
    const cpu = Math.min(...starts.map(({ startCpuSeconds }) => startCpuSeconds));
    const clock = Math.min(...starts.map(({ startSeconds }) => startSeconds));
    figures.push({ name: `CPU time ${text}`, value: cpu, unit: 's', ...goal });
    figures.push({ name: `duration ${text}`, value: clock, unit: 's' });
  }
  return figures;
}

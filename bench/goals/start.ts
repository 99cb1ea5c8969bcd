import { clusterFleet } from '../support/cluster-fleet.ts';
import type { Figure, Settings } from '../support/measure.ts';
import { startFleetServer, startServerOn } from '../support/processes.ts';

const STARTS = 3;

/** From the start of the process until it serves 100,000 clusters; the best of up to three starts on the same data. */
export async function run({ rounds }: Settings): Promise<Figure[]> {
  const fleet = clusterFleet({ clusters: 100_000, bindings: 1_000 });
  const first = await startFleetServer(fleet);
  await first.end();
  const starts = [];
  for (let round = 0; round < Math.min(rounds, STARTS); round++) {
    const server = await startServerOn(first.dataDir, fleet.callers);
    starts.push(server.startCpuSeconds);
    await server.end();
  }
  return [{ name: 'CPU time of a start with 100,000 clusters', value: Math.min(...starts), unit: 's', limit: 10 }];
}

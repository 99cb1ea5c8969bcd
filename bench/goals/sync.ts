import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FakeHub } from '../../src/sync/hub.fixture.ts';
import { TLS } from '../../test/e2e/support/server.ts';
import { clusterFleet, READER } from '../support/cluster-fleet.ts';
import { alternate, compared, type Figure, type Round, type Settings, spread } from '../support/measure.ts';
import { atEnd, builtProgram, type Cost, costOf, makeFolder, startFleetServer } from '../support/processes.ts';

const CLUSTERS = 10_000;
const LIMIT_SECONDS = 60;
const CPU_SHARE = 0.5;
const FLOOR = fileURLToPath(new URL('../support/sync-floor.ts', import.meta.url));
const PROFILES = 'multicluster.x-k8s.io/clusterprofiles';

/**
 * `clusterpass sync export --once` of a fleet into an empty hub, and again into the hub that has everything. The hub is
 * in this process, so the CPU time is that of the export alone. The floor sends the same requests and compares nothing.
 */
export async function run(settings: Settings): Promise<Figure[]> {
  const hub = await new FakeHub({ 'multicluster.x-k8s.io': ['v1alpha2'] }).start();
  atEnd(() => hub.stop());
  const server = await startFleetServer(clusterFleet({ clusters: CLUSTERS, bindings: 100 }));
  const home = await makeFolder();
  const kubeconfig = join(home, 'hub.yaml');
  await writeFile(kubeconfig, hub.kubeconfig);
  const sent = { CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: READER.token, CLUSTERPASS_CA: TLS.caFile };
  const env = { ...process.env, HOME: home, NODE_EXTRA_CA_CERTS: TLS.caFile, ...sent };
  const args = ['sync', 'export', '--kubeconfig', kubeconfig, '--namespace', 'inventory', '--once'];
  const program = [await builtProgram(), ...args];
  const steady: Cost[] = [];
  // Fills the compile cache.
  await costOf(program, { env });
  const measured = async (command: readonly string[]): Promise<Round> => {
    hub.objects(PROFILES).clear();
    const { cpuMs, wallMs } = await costOf(command, { env });
    const complete = [...hub.objects(PROFILES).values()].filter((profile) => 'status' in profile);
    if (complete.length !== CLUSTERS) throw new Error(`the hub has ${complete.length} of ${CLUSTERS} profiles`);
    return { rate: (CLUSTERS / wallMs) * 1000, cpuPerUnit: (cpuMs * 1000) / CLUSTERS };
  };
  const rounds = await alternate(
    settings,
    async () => {
      const round = await measured(program);
      const before = hub.writes.length;
      steady.push(await costOf(program, { env }));
      if (hub.writes.length > before) throw new Error('it wrote although nothing has changed');
      return round;
    },
    () => measured([FLOOR, hub.url]),
  );
  const seconds = spread(rounds.ours.map(({ rate }) => CLUSTERS / rate));
  const unchanged = spread(steady.map(({ cpuMs }) => cpuMs));
  return [
    ...compared('export of 10,000 clusters into an empty hub', CPU_SHARE, rounds),
    { name: 'duration of the export', ...seconds, unit: 's', limit: LIMIT_SECONDS },
    { name: 'the same when nothing has changed', ...unchanged, unit: 'ms of CPU' },
  ];
}

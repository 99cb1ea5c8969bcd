import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FakeHub } from '../../src/sync/hub.fixture.ts';
import { TLS } from '../../test/e2e/support/server.ts';
import { expectEqual } from '../support/client.ts';
import { clusterFleet, READER } from '../support/cluster-fleet.ts';
import { type Figure, type Settings, spread } from '../support/measure.ts';
import { atEnd, builtProgram, costOf, makeFolder, startFleetServer } from '../support/processes.ts';

const CLUSTERS = 10_000;
const LIMIT_SECONDS = 60;
const PROFILES = 'multicluster.x-k8s.io/clusterprofiles';

/**
 * `clusterpass sync export --once` of a fleet into an empty hub. The hub is in this process, so the CPU time is that of
 * the export alone.
 */
export async function run({ rounds, progress }: Settings): Promise<Figure[]> {
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
  const seconds: number[] = [];
  // Fills the compile cache.
  await costOf(program, { env });
  for (let round = 1; round <= rounds; round++) {
    hub.objects(PROFILES).clear();
    const whole = await costOf(program, { env });
    const complete = [...hub.objects(PROFILES).values()].filter((profile) => 'status' in profile);
    expectEqual('complete profiles in the hub', complete.length, CLUSTERS);
    seconds.push(whole.wallMs / 1000);
    progress(`round ${round}: ${whole.wallMs.toFixed(0)} ms, ${whole.cpuMs} ms of CPU`);
  }
  return [{ name: 'export of 10,000 clusters into an empty hub', ...spread(seconds), unit: 's', limit: LIMIT_SECONDS }];
}

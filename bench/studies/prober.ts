/**
 * Do probes of a large fleet delay token requests, and what does a probe cost? Two servers have the same fleet, and one
 * of them probes every cluster every 30 seconds. Both get token requests at the same rate at the same time, so other
 * load on the machine affects both. The difference of their CPU times is the cost of the probes.
 *
 *   npm run bench -- prober [clusters] [seconds] [requests a second] [seconds before the measurement]
 *
 * The API servers of the fleet are one process with the lowest priority: in a real fleet they run on other machines.
 * Its CPU time is counted separately. Heartbeats are written from the start. A connection to a cluster is replaced
 * after five to fifteen minutes, so 420 seconds before the measurement include that cost.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { constants, cpus, loadavg, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { type Server, startServer } from '../../test/e2e/support/server.ts';
import { ACCOUNT, clusterFleet, HOME, NAMESPACE } from '../support/cluster-fleet.ts';
import { cpuOf, memoryOf } from '../support/cpu.ts';
import { writeFleet } from '../support/fleet.ts';
import { percentile } from '../support/numbers.ts';
import { CREATED, clusterBody, tokenPath } from '../support/objects.ts';
import type { ProbeCounts } from '../support/probed-clusters.ts';

const [clusters = 10_000, seconds = 60, rate = 100, before = 30] = process.argv.slice(2).map(Number);
const TOKEN = tokenPath(HOME, NAMESPACE, ACCOUNT);
const INTERVAL_S = 30;
const PROBER_THREAD = 'prober';
const WARM_UP_SECONDS = 5;

const authority = createAuthority('fleet CA');
const { cert, key } = authority.issue({ names: ['127.0.0.1'] });
const apiServers = fork(fileURLToPath(new URL('../support/probed-clusters.ts', import.meta.url)));
const apiServersPid = apiServers.pid ?? 0;
setPriority(apiServersPid, constants.priority.PRIORITY_LOW);
apiServers.send({ cert, key });
const [{ port }] = (await once(apiServers, 'message')) as [{ port: number }];

async function counts(): Promise<ProbeCounts> {
  apiServers.send('count');
  const [message] = (await once(apiServers, 'message')) as [ProbeCounts];
  return message;
}

/** A cluster after its first probe, so that later probes write only heartbeats. */
function probedCluster(name: string, labels: Record<string, string>): object {
  const ready = { type: 'Ready', status: 'True', reason: 'ProbeSucceeded', message: 'It was ready.' };
  return {
    ...clusterBody(name, labels),
    spec: {
      orchestratorApiEndpoints: {
        serverEndpoints: [{ serverAddress: `https://127.0.0.1:${port}` }],
        caBundle: Buffer.from(authority.cert).toString('base64'),
      },
    },
    status: {
      type: 'Kubernetes',
      version: 'v1.36.4',
      conditions: [{ ...ready, lastHeartbeatTime: CREATED, lastTransitionTime: CREATED }],
    },
  };
}

/** Milliseconds of each request from the moment it was due, so that waiting for a connection counts. */
async function measure(server: Server, forSeconds: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const headers = { Authorization: `Bearer ${server.adminToken}`, 'Content-Type': 'application/json' };
  const times: number[] = [];
  const send = (due: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const outgoing = request(`${server.url}${TOKEN}`, { agent, method: 'POST', headers }, (response) => {
        response.resume();
        response.on('end', () => {
          times.push(performance.now() - due);
          if (response.statusCode === 201) resolve();
          else reject(new Error(`a token request got status ${response.statusCode}`));
        });
      });
      // The server may close an idle connection in the moment it is used again. Clients retry then.
      outgoing.on('error', (error) => (outgoing.reusedSocket ? resolve(send(due)) : reject(error)));
      outgoing.end('{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":[]}}');
    });
  const sent: Promise<void>[] = [];
  const start = performance.now();
  for (let i = 0; i < forSeconds * rate; i++) {
    const due = start + (i * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await sleep(wait);
    sent.push(send(due));
  }
  await Promise.all(sent);
  agent.destroy();
  return times;
}

const columns = (cells: readonly string[]): string => cells.map((cell) => cell.padStart(9)).join('');
const row = (name: string, times: number[]): string =>
  `${name.padEnd(36)}${columns([0.5, 0.9, 0.99, 0.999].map((share) => percentile(times, share).toFixed(2)))}`;

const folder = await mkdtemp(join(tmpdir(), 'clusterpass-bench-'));
const servers: Server[] = [];
async function start(name: string, interval: string): Promise<Server> {
  const dataDir = join(folder, name);
  cpSync(join(folder, 'fleet'), dataDir, { recursive: true });
  const args = ['--cluster-networks', '127.0.0.0/8', '--log-level', 'error', '--probe-interval', interval];
  const server = await startServer({ args, dataDir });
  servers.push(server);
  return server;
}
try {
  console.log(
    `${clusters} clusters, ${rate} token requests a second at each server for ${seconds} s after ${before} s;`,
    `${cpus().length} processors, load ${(loadavg()[0] ?? 0).toFixed(1)}`,
  );
  await writeFleet(join(folder, 'fleet'), clusterFleet({ clusters, bindings: 3, body: probedCluster }));
  const idle = await start('idle', '0');
  await measure(idle, WARM_UP_SECONDS);
  const alone = await measure(idle, Math.min(seconds, 30));

  const probing = await start('probing', `${INTERVAL_S}s`);
  const from = performance.now();
  while ((await counts()).probes < clusters) await sleep(100);
  const firstRound = (performance.now() - from) / 1000;
  await sleep(before * 1000);
  await Promise.all([measure(idle, WARM_UP_SECONDS), measure(probing, WARM_UP_SECONDS)]);

  const cpuNow = () => ({
    idle: cpuOf(idle.pid),
    probing: cpuOf(probing.pid),
    thread: cpuOf(probing.pid, PROBER_THREAD),
    apiServers: cpuOf(apiServersPid),
  });
  const [countsBefore, cpuBefore, began] = [await counts(), cpuNow(), performance.now()];
  const [idleTimes, probingTimes] = await Promise.all([measure(idle, seconds), measure(probing, seconds)]);
  const [countsAfter, cpuAfter, elapsed] = [await counts(), cpuNow(), (performance.now() - began) / 1000];
  const probes = countsAfter.probes - countsBefore.probes;
  const connections = countsAfter.connections - countsBefore.connections;
  const perProbe = (microseconds: number): string => `${(microseconds / probes / 1000).toFixed(2)} ms`;
  const used = (of: keyof ReturnType<typeof cpuNow>): number => cpuAfter[of] - cpuBefore[of];
  const more = used('probing') - used('idle');
  const [p99, idleP99] = [percentile(probingTimes, 0.99), percentile(idleTimes, 0.99)];

  console.log(`${'token requests'.padEnd(36)}${columns(['p50', 'p90', 'p99', 'p99.9'])}  ms`);
  console.log(row('without probes, alone', alone));
  console.log(row('without probes, beside the other', idleTimes));
  console.log(row('with probes', probingTimes));
  console.log(`p99 with probes: ${(p99 / idleP99).toFixed(2)} times that of the server without, at the same time`);
  console.log(
    `${(probes / elapsed).toFixed(0)} probes a second, ${(clusters / INTERVAL_S).toFixed(0)} wanted;`,
    `${(connections / elapsed).toFixed(1)} over a new connection; first round ${firstRound.toFixed(1)} s`,
  );
  console.log(`CPU time of a probe: ${perProbe(used('thread'))} in the prober's thread, ${perProbe(more)} in total`);
  console.log(
    `(of the API servers, not included: ${perProbe(used('apiServers'))});`,
    `${(more / elapsed / 1e6).toFixed(2)} processors for all probes`,
  );
  const memory = { idle: memoryOf(idle.pid).now, probing: memoryOf(probing.pid).now };
  console.log(
    `memory: ${memory.idle.toFixed(0)} MB without probes, ${memory.probing.toFixed(0)} MB with probes,`,
    `${(((memory.probing - memory.idle) * 1024) / clusters).toFixed(0)} KB for a cluster`,
  );
} finally {
  for (const server of servers) await server.destroy();
  apiServers.kill();
  await rm(folder, { recursive: true, force: true });
}

/**
 * Does looking at a large fleet delay those who ask for tokens, and what does a look cost? Two servers with the same
 * fleet, one of which looks at every cluster every 30 seconds, get token requests at the same steady rate at the same
 * time: whatever the machine does beside, it does to both, and what the one computes more than the other is the price
 * of the looks.
 *
 *   node bench/prober.ts [clusters] [seconds] [requests per second] [seconds to settle]
 *
 * The API servers of the fleet are one process, which runs at the lowest priority: elsewhere they would be on other
 * machines. Its own processor time is counted apart. Heartbeats are written from the start as they are all the time;
 * connections are made anew after five to fifteen minutes, so 420 seconds to settle show that as well.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { constants, cpus, loadavg, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createAuthority } from '../src/clusters/upstream/certificates.fixture.ts';
import { type Server, startServer } from '../test/e2e/support/server.ts';
import { cpuOf, memoryOf } from './support/cpu.ts';
import { ACCOUNT, clusterBody, HOME, NAMESPACE, writeFleet } from './support/fleet.ts';
import { at } from './support/numbers.ts';

const [clusters = 10_000, seconds = 60, rate = 100, settle = 30] = process.argv.slice(2).map(Number);
const TOKEN = `/orchestrator/${HOME}/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${ACCOUNT}/token`;
const INTERVAL_S = 30;
const PROBER_THREAD = 'prober';

const authority = createAuthority('fleet CA');
const { cert, key } = authority.issue({ names: ['127.0.0.1'] });
const fleet = fork(fileURLToPath(new URL('prober-fleet.ts', import.meta.url)));
const fleetPid = fleet.pid ?? 0;
setPriority(fleetPid, constants.priority.PRIORITY_LOW);
fleet.send({ cert, key });
const [{ port }] = (await once(fleet, 'message')) as [{ port: number }];

async function counted(): Promise<{ looks: number; connections: number }> {
  fleet.send('count');
  const [counts] = (await once(fleet, 'message')) as [{ looks: number; connections: number }];
  return counts;
}

/** As it is after the prober has seen it, so that nothing but heartbeats has to be written. */
function probedCluster(name: string, labels: Record<string, string>): object {
  const body = clusterBody(name, labels) as { spec: object };
  const long = '2026-01-01T00:00:00Z';
  const ready = { type: 'Ready', status: 'True', reason: 'ProbeSucceeded', message: 'It was ready.' };
  return {
    ...body,
    spec: {
      orchestratorApiEndpoints: {
        serverEndpoints: [{ serverAddress: `https://127.0.0.1:${port}` }],
        caBundle: Buffer.from(authority.cert).toString('base64'),
      },
    },
    status: {
      type: 'Kubernetes',
      version: 'v1.36.4',
      conditions: [{ ...ready, lastHeartbeatTime: long, lastTransitionTime: long }],
    },
  };
}

/** Milliseconds for each request, from the moment it was due: one that has to wait for its turn waited. */
async function measure(server: Server, forSeconds: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const headers = { Authorization: `Bearer ${server.adminToken}`, 'Content-Type': 'application/json' };
  const times: number[] = [];
  const ask = (due: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const sent = request(`${server.url}${TOKEN}`, { agent, method: 'POST', headers }, (answer) => {
        answer.resume();
        answer.on('end', () => {
          times.push(performance.now() - due);
          if (answer.statusCode === 201) resolve();
          else reject(new Error(`a token request was answered with ${answer.statusCode}`));
        });
      });
      // The server may close an idle connection in the moment it is used again; clients ask once more then.
      sent.on('error', (error) => (sent.reusedSocket ? resolve(ask(due)) : reject(error)));
      sent.end('{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":[]}}');
    });
  const asked: Promise<void>[] = [];
  const start = performance.now();
  for (let i = 0; i < forSeconds * rate; i++) {
    const due = start + (i * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await delay(wait);
    asked.push(ask(due));
  }
  await Promise.all(asked);
  agent.destroy();
  return times;
}

const row = (name: string, times: number[]): string =>
  `${name.padEnd(32)}${[0.5, 0.9, 0.99, 0.999].map((part) => at(times, part).toFixed(2).padStart(9)).join('')}`;

const folder = await mkdtemp(join(tmpdir(), 'clusterpass-bench-'));
const servers: Server[] = [];
async function start(name: string, interval: string): Promise<Server> {
  const dataDir = join(folder, name);
  cpSync(join(folder, 'fleet'), dataDir, { recursive: true });
  const args = ['--allow-upstream-cidr', '127.0.0.0/8', '--log-level', 'error', '--probe-interval', interval];
  const server = await startServer({ args, dataDir });
  servers.push(server);
  return server;
}
try {
  console.log(
    `${clusters} clusters, ${rate} token requests in a second at each server for ${seconds} s after ${settle} s;`,
    `${cpus().length} processors, load ${(loadavg()[0] ?? 0).toFixed(1)}`,
  );
  await writeFleet(join(folder, 'fleet'), { clusters, bindings: 3, body: probedCluster });
  const quiet = await start('quiet', '0');
  await measure(quiet, 5);
  const alone = await measure(quiet, Math.min(seconds, 30));

  const busy = await start('busy', `${INTERVAL_S}s`);
  const from = performance.now();
  while ((await counted()).looks < clusters) await delay(100);
  const firstRound = (performance.now() - from) / 1000;
  await delay(settle * 1000);
  await Promise.all([measure(quiet, 5), measure(busy, 5)]);

  const cpuNow = () => ({
    quiet: cpuOf(quiet.pid),
    busy: cpuOf(busy.pid),
    thread: cpuOf(busy.pid, PROBER_THREAD),
    fleet: cpuOf(fleetPid),
  });
  const [countedBefore, before, began] = [await counted(), cpuNow(), performance.now()];
  const [beside, probing] = await Promise.all([measure(quiet, seconds), measure(busy, seconds)]);
  const [countedAfter, after, elapsed] = [await counted(), cpuNow(), (performance.now() - began) / 1000];
  const looks = countedAfter.looks - countedBefore.looks;
  const connections = countedAfter.connections - countedBefore.connections;
  const perLook = (microseconds: number): string => `${(microseconds / looks / 1000).toFixed(2)} ms`;
  const thread = after.thread - before.thread;
  const more = after.busy - before.busy - (after.quiet - before.quiet);
  const ofFleet = after.fleet - before.fleet;

  console.log(`${''.padEnd(32)}${['p50', 'p90', 'p99', 'p99.9'].map((name) => name.padStart(9)).join('')}  ms`);
  console.log(row('not probing, alone', alone));
  console.log(row('not probing, beside one that is', beside));
  console.log(row('probing', probing));
  console.log(`p99 probing: ${(at(probing, 0.99) / at(beside, 0.99)).toFixed(2)} times that of not probing beside it`);
  console.log(
    `${(looks / elapsed).toFixed(0)} looks in a second of ${(clusters / INTERVAL_S).toFixed(0)} wanted,`,
    `${(connections / elapsed).toFixed(1)} of them over a new connection; first round ${firstRound.toFixed(1)} s`,
  );
  console.log(`processor time for a look: ${perLook(thread)} in the prober's thread, ${perLook(more)} in all`);
  console.log(
    `(the fleet's part, not in it: ${perLook(ofFleet)}); together ${(more / elapsed / 1e6).toFixed(2)} processors`,
  );
  const memory = { quiet: memoryOf(quiet.pid).now, busy: memoryOf(busy.pid).now };
  console.log(
    `memory: ${memory.quiet.toFixed(0)} MB not probing, ${memory.busy.toFixed(0)} MB probing,`,
    `${(((memory.busy - memory.quiet) * 1024) / clusters).toFixed(0)} KB for a cluster`,
  );
} finally {
  for (const server of servers) await server.destroy();
  fleet.kill();
  await rm(folder, { recursive: true, force: true });
}

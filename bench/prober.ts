/**
 * Does looking at a large fleet delay those who ask for tokens? Token requests at a steady rate, quiet and while
 * every cluster is looked at every 30 seconds. Server, fleet and clients are processes of their own, so on a small
 * machine they share the processors: the fleet's half of the handshakes is part of the price shown here.
 *
 *   node bench/prober.ts [clusters] [seconds] [requests per second]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createAuthority } from '../src/clusters/upstream/certificates.fixture.ts';
import { type Server, startServer } from '../test/e2e/support/server.ts';

const [clusters = 10_000, seconds = 60, rate = 100] = process.argv.slice(2).map(Number);
const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const TOKEN = '/orchestrator/c0/api/v1/namespaces/ci/serviceaccounts/builder/token';
const INTERVAL_S = 30;

const authority = createAuthority('fleet CA');
const { cert, key } = authority.issue({ names: ['127.0.0.1'] });
const fleet = fork(fileURLToPath(new URL('prober-fleet.ts', import.meta.url)));
fleet.send({ cert, key });
const [{ port }] = (await once(fleet, 'message')) as [{ port: number }];

async function looks(): Promise<number> {
  fleet.send('count');
  const [{ count }] = (await once(fleet, 'message')) as [{ count: number }];
  return count;
}

async function create(server: Server, path: string, body: object): Promise<void> {
  const { code, text } = await server.call('POST', path, { body });
  if (code !== 201) throw new Error(text);
}

async function fill(server: Server): Promise<void> {
  const orchestratorApiEndpoints = {
    serverEndpoints: [{ serverAddress: `https://127.0.0.1:${port}` }],
    caBundle: Buffer.from(authority.cert).toString('base64'),
  };
  const names = Array.from({ length: clusters }, (_, i) => `c${i}`).values();
  const worker = async (): Promise<void> => {
    for (const name of names) {
      const metadata = { name, labels: { env: 'bench' } };
      const type = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };
      await create(server, CLUSTERS, { ...type, metadata, spec: { orchestratorApiEndpoints } });
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  await create(server, '/orchestrator/c0/api/v1/namespaces', { metadata: { name: 'ci' } });
  await create(server, '/orchestrator/c0/api/v1/namespaces/ci/serviceaccounts', { metadata: { name: 'builder' } });
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
  return times.sort((a, b) => a - b);
}

const at = (times: number[], part: number): number => times[Math.floor(times.length * part)] ?? Number.NaN;
const row = (name: string, times: number[]): string =>
  `${name.padEnd(30)}${[0.5, 0.9, 0.99, 0.999].map((part) => at(times, part).toFixed(2).padStart(9)).join('')}`;

/** Processor time of the process so far, in seconds, and its memory, in MB (proc(5)). */
function used({ pid }: Server): { cpu: number; rss: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, rss: (Number(fields[21]) * 4096) / 1e6 };
}

const args = ['--allow-address', '127.0.0.0/8', '--log-level', 'error'];
const servers: Server[] = [];
const start = async (options: Parameters<typeof startServer>[0]): Promise<Server> => {
  const server = await startServer(options);
  servers.push(server);
  return server;
};
try {
  console.log(`${clusters} clusters, ${rate} token requests in a second for ${seconds} s, ${cpus().length} processors`);
  const first = await start({ args });
  await fill(first);
  await first.stop();
  const dataDir = `${first.dataDir}-probing`;
  cpSync(first.dataDir, dataDir, { recursive: true });

  const quiet = await first.restart();
  servers.push(quiet);
  await measure(quiet, 5);
  const alone = await measure(quiet, seconds);

  const busy = await start({ args: [...args, '--probe-interval', `${INTERVAL_S}s`], dataDir });
  // The first round also writes the status of every cluster.
  const from = performance.now();
  while ((await looks()) < clusters) await delay(100);
  const firstRound = (performance.now() - from) / 1000;
  await measure(busy, 5);
  const [before, usedBefore] = [await looks(), used(busy)];
  const began = performance.now();
  // Both in the same minute: whatever else the machine does, it does to both.
  const [beside, probing] = await Promise.all([measure(quiet, seconds), measure(busy, seconds)]);
  const elapsed = (performance.now() - began) / 1000;
  const after = used(busy);
  const perSecond = ((await looks()) - before) / elapsed;

  console.log(`${''.padEnd(30)}${['p50', 'p90', 'p99', 'p99.9'].map((name) => name.padStart(9)).join('')}  ms`);
  console.log(row('quiet, alone', alone));
  console.log(row('quiet, beside one that probes', beside));
  console.log(row('probing', probing));
  const ratio = (others: number[]): string => (at(probing, 0.99) / at(others, 0.99)).toFixed(2);
  console.log(`p99 is ${ratio(alone)} times that of quiet alone, and ${ratio(beside)} times that of quiet beside it`);
  console.log(`first round ${firstRound.toFixed(1)} s; then ${perSecond.toFixed(0)} looks in a second`);
  console.log(`wanted: ${(clusters / INTERVAL_S).toFixed(0)} looks in a second`);
  console.log(`the server that probes used ${((after.cpu - usedBefore.cpu) / elapsed).toFixed(2)} processors`);
  console.log(`memory: ${used(quiet).rss.toFixed(0)} MB quiet, ${after.rss.toFixed(0)} MB probing`);
} finally {
  for (const server of servers) await server.destroy();
  fleet.kill();
}

/**
 * What do replicas on one etcd cost, by the size of the fleet and the number of replicas? Work is measured in CPU time,
 * so that other load on the machine changes it little.
 *
 *   npm run bench -- scale [CLUSTERS...]
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setUpEtcd } from '../../scripts/setup-etcd.mjs';
import { openEtcdStore } from '../../src/storage/etcd/open-etcd-store.ts';
import { seedEtcdRevision } from '../../src/storage/etcd/store-meta.ts';
import { freePorts, startEtcd } from '../../test/conformance/etcd-process.ts';
import { type Server, startServer } from '../../test/e2e/support/server.ts';
import { ACCOUNT, clusterFleet, HOME, NAMESPACE } from '../support/cluster-fleet.ts';
import { childrenOf, cpuOf, memoryOf } from '../support/cpu.ts';
import { fillStore } from '../support/fleet.ts';
import { CLUSTERS_PATH, clusterName, tokenPath } from '../support/objects.ts';

const SIZES = process.argv.slice(2).map(Number);
const REPLICAS = 3;
const AT_ONCE = 8;
const TOKEN = tokenPath(HOME, NAMESPACE, ACCOUNT);
const MERGE = { 'Content-Type': 'application/merge-patch+json' };

const begun = performance.now();
/** To the standard error, beside the table. */
const progress = (text: string): void =>
  void process.stderr.write(`  ${Math.round((performance.now() - begun) / 1_000)} s: ${text}\n`);
const row = (...cells: (string | number)[]): void => console.log(`| ${cells.join(' | ')} |`);

/** The child process with the name etcd. */
function etcdPid(): number {
  const found = childrenOf(process.pid).find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'etcd');
  if (found === undefined) throw new Error('etcd is not running');
  return found;
}

const WORKS: Readonly<Record<string, { count: number; send(server: Server, i: number): Promise<{ code: number }> }>> = {
  token: { count: 1_000, send: (server) => server.call('POST', TOKEN, { body: { spec: { audiences: ['vault'] } } }) },
  write: {
    count: 400,
    send: (server, i) =>
      server.call('PATCH', `${CLUSTERS_PATH}/${clusterName(i % 500)}`, {
        body: { metadata: { annotations: { note: `${i}` } } },
        headers: MERGE,
      }),
  },
  'fresh read': { count: 1_000, send: (server, i) => server.call('GET', `${CLUSTERS_PATH}/${clusterName(i % 500)}`) },
};

/** CPU time in microseconds of one request: of all replicas together, and of etcd. */
async function measure(servers: readonly Server[], etcd: number, name: keyof typeof WORKS): Promise<[number, number]> {
  const work = WORKS[name];
  if (work === undefined) throw new Error(`unknown work: ${name}`);
  const replicas = (): number => servers.reduce((sum, { pid }) => sum + cpuOf(pid), 0);
  const run = async (count: number): Promise<void> => {
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let i = next++; i < count; i = next++) {
          const { code } = await work.send(servers[i % servers.length] as Server, i);
          if (code >= 300) throw new Error(`${name} got status ${code}`);
        }
      }),
    );
  };
  // A warm-up of every replica.
  await run(work.count * servers.length);
  const before = [replicas(), cpuOf(etcd)] as const;
  await run(work.count);
  return [(replicas() - before[0]) / work.count, (cpuOf(etcd) - before[1]) / work.count];
}

async function measureFleet(clusters: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-scale-'));
  const keyFile = join(folder, 'encryption.key');
  await writeFile(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 });
  const etcd = await startEtcd({ fsync: true });
  const servers: Server[] = [];
  try {
    const access = { endpoints: etcd.endpoints };
    const target = {
      open: async () => (await openEtcdStore({ ...access, prefix: '/fleet' })).store,
      seedRevision: (revision: number) => seedEtcdRevision(access, '/fleet', revision),
    };
    progress(`writing ${clusters} clusters to etcd`);
    await fillStore(target, clusterFleet({ clusters, bindings: 1_000 }));
    const pid = etcdPid();
    for (const port of await freePorts(REPLICAS)) {
      const args = ['--store', `etcd://${etcd.endpoints.join(',')}/fleet`, '--encryption-key-file', keyFile];
      progress(`starting replica ${servers.length + 1}`);
      const startedAt = performance.now();
      servers.push(await startServer({ args: [...args, '--base-url', 'https://pass.example'], port }));
      const seconds = (performance.now() - startedAt) / 1_000;
      const cells: string[] = [];
      for (const name of Object.keys(WORKS)) {
        const [server, store] = await measure(servers, pid, name);
        cells.push(`${Math.round(server)} + ${Math.round(store)} us`);
      }
      const memory = Math.max(...servers.map((server) => memoryOf(server.pid).now));
      row(
        clusters,
        servers.length,
        `${seconds.toFixed(1)} s`,
        `${Math.round(memory)} MB`,
        `${Math.round(memoryOf(pid).now)} MB`,
        ...cells,
      );
    }
  } finally {
    for (const server of servers) await server.destroy();
    await etcd.destroy();
    await rm(folder, { recursive: true, force: true });
  }
}

setUpEtcd();
row(
  'clusters',
  'replicas',
  'start',
  'memory of one replica',
  'memory of etcd',
  ...Object.keys(WORKS).map((name) => `CPU of a ${name}, replicas + etcd`),
);
row(...Array.from({ length: 8 }, () => '---'));
for (const clusters of SIZES.length === 0 ? [1_000, 10_000, 100_000] : SIZES) await measureFleet(clusters);

/**
 * `npm run bench -- scale [CLUSTERS...]`: what replicas on one etcd take, by the size of the fleet and the number of
 * replicas. Work is counted in processor time, so that a busy machine changes little.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setUpEtcd } from '../scripts/setup-etcd.mjs';
import { openEtcdStore } from '../src/storage/etcd/open-etcd-store.ts';
import { seedEtcdRevision } from '../src/storage/etcd/store-meta.ts';
import { freePorts, startEtcd } from '../test/conformance/etcd-process.ts';
import { type Server, startServer } from '../test/e2e/support/server.ts';
import { cpuOf, memoryOf } from './support/cpu.ts';
import { ACCOUNT, clusterName, fillStore, HOME, NAMESPACE } from './support/fleet.ts';

const SIZES = process.argv.slice(2).map(Number);
const REPLICAS = 3;
const LANES = 8;
const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const TOKEN = `/orchestrator/${HOME}/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${ACCOUNT}/token`;
const MERGE = { 'Content-Type': 'application/merge-patch+json' };

const begun = performance.now();
/** Where it is, beside the table. */
const progress = (text: string): void =>
  void process.stderr.write(`  ${Math.round((performance.now() - begun) / 1_000)} s: ${text}\n`);
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const row = (...cells: (string | number)[]): void => say(`| ${cells.join(' | ')} |`);

/** The member's process: the child of this one that is called etcd. */
function etcdPid(): number {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ');
  const found = children.find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'etcd');
  if (found === undefined) throw new Error('etcd is not running');
  return Number(found);
}

const WORKS: Readonly<Record<string, { count: number; one(server: Server, i: number): Promise<{ code: number }> }>> = {
  token: { count: 1_000, one: (server) => server.call('POST', TOKEN, { body: { spec: { audiences: ['vault'] } } }) },
  write: {
    count: 400,
    one: (server, i) =>
      server.call('PATCH', `${CLUSTERS}/${clusterName(i % 500)}`, {
        body: { metadata: { annotations: { note: `${i}` } } },
        headers: MERGE,
      }),
  },
  'fresh read': { count: 1_000, one: (server, i) => server.call('GET', `${CLUSTERS}/${clusterName(i % 500)}`) },
};

/** Processor time in microseconds for each piece of work: of all replicas together, and of etcd. */
async function measure(servers: readonly Server[], etcd: number, name: keyof typeof WORKS): Promise<[number, number]> {
  const work = WORKS[name];
  if (work === undefined) throw new Error(`no such work: ${name}`);
  const desks = (): number => servers.reduce((sum, { pid }) => sum + cpuOf(pid), 0);
  const run = async (count: number): Promise<void> => {
    let next = 0;
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        for (let i = next++; i < count; i = next++) {
          const { code } = await work.one(servers[i % servers.length] as Server, i);
          if (code >= 300) throw new Error(`${name} was answered with ${code}`);
        }
      }),
    );
  };
  // A process that has just started is slow: all of them have to be warm.
  await run(work.count * servers.length);
  const before = [desks(), cpuOf(etcd)] as const;
  await run(work.count);
  return [(desks() - before[0]) / work.count, (cpuOf(etcd) - before[1]) / work.count];
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
    progress(`${clusters} clusters are written to etcd`);
    await fillStore(target, { clusters, bindings: 1_000 });
    const pid = etcdPid();
    for (const port of await freePorts(REPLICAS)) {
      const args = ['--store', `etcd://${etcd.endpoints.join(',')}/fleet`, '--encryption-key-file', keyFile];
      progress(`replica ${servers.length + 1} starts`);
      const asked = performance.now();
      servers.push(await startServer({ args: [...args, '--base-url', 'https://pass.example'], port }));
      const seconds = (performance.now() - asked) / 1_000;
      const cells: string[] = [];
      for (const name of Object.keys(WORKS)) {
        const [desk, store] = await measure(servers, pid, name);
        cells.push(`${Math.round(desk)} + ${Math.round(store)} µs`);
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
  'memory of one',
  'memory of etcd',
  ...Object.keys(WORKS).map((name) => `${name} (replicas + etcd)`),
);
row(...Array.from({ length: 8 }, () => '---'));
for (const clusters of SIZES.length === 0 ? [1_000, 10_000, 100_000] : SIZES) await measureFleet(clusters);

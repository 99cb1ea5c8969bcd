import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { call, expectEqual, must, requestText } from './support/client.ts';
import { alternate, type Round, rowOf, type Settings } from './support/compare.ts';
import { clusterBody } from './support/fleet.ts';
import { Driver, makeFolder, startDesk, startFloor } from './support/processes.ts';
import type { Report } from './support/report.ts';

const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const WRITERS = 16;
const WARM_UP = 10_000;

/** The same rows without a server, in a process of its own: straight into SQLite, or through the storage engine. */
function writeRows(way: 'sqlite-floor' | 'store-writers', file: string, rows: number): Promise<Round> {
  const script = fileURLToPath(new URL(`support/${way}.ts`, import.meta.url));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, file, String(rows), String(WRITERS)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    child.once('close', (code) => {
      if (code !== 0) return reject(new Error(`${way} ended with ${code}`));
      const { seconds, cpu } = JSON.parse(text) as { seconds: number; cpu: number };
      resolve({ rate: rows / seconds, cpuPerUnit: cpu / rows });
    });
  });
}

export async function benchWrite(settings: Settings): Promise<Report> {
  const desk = await startDesk({ clusters: 100, bindings: 100 });
  const folder = await makeFolder();
  const driver = new Driver();
  const token = desk.adminToken;
  const cluster = clusterBody('one-of-many', {});
  const [before = '', after = ''] = requestText('POST', CLUSTERS, {
    token,
    body: { ...cluster, metadata: { name: 'new-########' } },
  }).split('########');
  const request = [before, after] as const;
  let made = 0;
  const create = async (total: number): Promise<Round> => {
    const { seconds, cpuPerUnit } = await driver.run(desk, { request, connections: WRITERS, total, firstNumber: made });
    made += total;
    return { rate: total / seconds, cpuPerUnit };
  };
  await create(WARM_UP);
  const total = Math.max(WRITERS, Math.round((await create(WARM_UP)).rate * settings.seconds));
  const rounds = await alternate(
    settings,
    () => create(total),
    (index) => writeRows('sqlite-floor', join(folder, `floor-${index}.db`), total),
  );
  const rows = Math.round((rounds.floor[0]?.rate ?? total) * settings.seconds);
  const engine = await alternate(
    settings,
    (index) => writeRows('store-writers', join(folder, `engine-${index}.db`), rows),
    (index) => writeRows('sqlite-floor', join(folder, `engine-floor-${index}.db`), rows),
  );
  const bare = await startFloor('create', new Uint8Array());
  let sent = 0;
  const post = async (): Promise<Round> => {
    const done = await driver.run(bare, { request, connections: WRITERS, total, firstNumber: sent });
    sent += total;
    return { rate: total / done.seconds, cpuPerUnit: done.cpuPerUnit };
  };
  await post();
  const beside = await alternate(settings, () => create(total), post);
  const { items } = await must<{ items: { metadata: { name: string } }[] }>(call(desk, 'GET', CLUSTERS));
  const found = items.filter(({ metadata }) => metadata.name.startsWith('new-')).length;
  expectEqual('clusters that are there afterwards', found, made);
  const note = 'the floor has no TLS, HTTP, JSON or RBAC to do, so it is the rates that are compared';
  const alone = 'of the storage engine: 16 writers, each waiting for its own row, and no server around it';
  const server = 'the floor is a bare server that parses the same bodies, stores them and answers with them';
  return {
    rows: [
      rowOf({ name: 'durable creates', unit: 'creates', goal: { rateShare: 0.5 }, note }, rounds),
      rowOf({ name: 'the same, to the store', unit: 'creates', goal: { rateShare: 0.5 }, note: alone }, engine),
      rowOf({ name: 'the same, to a server', unit: 'creates', goal: { share: 0.5 }, note: server }, beside),
    ],
  };
}

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { call, expectEqual, expectSuccess } from '../support/client.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { alternate, type Round, rowOf, type Settings } from '../support/compare.ts';
import { Driver } from '../support/driver.ts';
import { numberedCreate } from '../support/numbered-create.ts';
import { CLUSTERS_PATH } from '../support/objects.ts';
import { makeFolder, startFleetServer, startFloor } from '../support/processes.ts';
import type { Report } from '../support/report.ts';

const WRITERS = 16;
/** At the start. */
const CLUSTERS = 100;
/**
 * Each server handles twice as many before it is measured: the threads in which V8 compiles took 79 µs of each of the
 * first 30,000 creates, and 27 µs of the next 12,000.
 */
const WARM_UP = 30_000;

/** Writes rows without a server, in a separate process: directly into SQLite, or with the storage engine. */
function writeRows(program: 'sqlite-floor' | 'store-writers', file: string, rows: number): Promise<Round> {
  const script = fileURLToPath(new URL(`../support/${program}.ts`, import.meta.url));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, file, String(rows), String(WRITERS)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    child.once('close', (code) => {
      if (code !== 0) return reject(new Error(`${program} exited with ${code}`));
      const { seconds, cpu } = JSON.parse(text) as { seconds: number; cpu: number };
      resolve({ rate: rows / seconds, cpuPerUnit: cpu / rows });
    });
  });
}

/** Durable creates of clusters by 16 writers. */
export async function benchWrite(settings: Settings): Promise<Report> {
  const server = await startFleetServer(clusterFleet({ clusters: CLUSTERS, bindings: 100 }));
  const folder = await makeFolder();
  const driver = new Driver();
  const numbered = numberedCreate(server.adminToken);
  const connections = WRITERS;
  let created = 0;
  const create = async (total: number): Promise<Round> => {
    const work = { requests: { numbered, from: created }, connections, total };
    const { seconds, cpuPerUnit } = await driver.run(server, work);
    created += total;
    return { rate: total / seconds, cpuPerUnit };
  };
  await create(WARM_UP);
  const total = Math.max(WRITERS, Math.round((await create(WARM_UP)).rate * settings.seconds));
  const besideSqlite = await alternate(
    settings,
    () => create(total),
    (index) => writeRows('sqlite-floor', join(folder, `floor-${index}.db`), total),
  );
  const rows = Math.round((besideSqlite.floor[0]?.rate ?? total) * settings.seconds);
  const engine = await alternate(
    settings,
    (index) => writeRows('store-writers', join(folder, `engine-${index}.db`), rows),
    (index) => writeRows('sqlite-floor', join(folder, `engine-floor-${index}.db`), rows),
  );
  const floor = await startFloor('create', new Uint8Array());
  let posted = 0;
  const post = async (count: number): Promise<Round> => {
    const done = await driver.run(floor, { requests: { numbered, from: posted }, connections, total: count });
    posted += count;
    return { rate: count / done.seconds, cpuPerUnit: done.cpuPerUnit };
  };
  await post(2 * WARM_UP);
  const besideServer = await alternate(
    settings,
    () => create(total),
    () => post(total),
  );
  const { metadata } = await expectSuccess<{ metadata: { remainingItemCount: number } }>(
    call(server, 'GET', `${CLUSTERS_PATH}?limit=1`),
  );
  expectEqual('clusters that exist afterwards', metadata.remainingItemCount + 1, CLUSTERS + created);
  const about = {
    sqlite:
      'POST of a cluster. The floor writes the same rows to SQLite, 16 in a transaction, without TLS, HTTP, JSON or ' +
      'RBAC, so the rates are compared.',
    engine: 'The storage engine without a server: 16 writers, each awaits its own row. The floor is the same.',
    server: 'POST of a cluster. The floor is a bare server that parses the same body, stores it and responds with it.',
  };
  const unit = 'creates';
  const byRate = { rateShare: 0.5 };
  return {
    rows: [
      rowOf({ name: 'creates, beside SQLite', unit, about: about.sqlite, goal: byRate }, besideSqlite),
      rowOf({ name: 'storage engine, beside SQLite', unit, about: about.engine, goal: byRate }, engine),
      rowOf({ name: 'creates, beside a server', unit, about: about.server, goal: { cpuShare: 0.5 } }, besideServer),
    ],
  };
}

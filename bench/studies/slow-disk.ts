/**
 * How many creates a second do 16 writers get where a sync of the disk takes 1 or 3 ms, and how many share one sync?
 * The disk allows 16 creates for each sync: each writer waits for its own. A bare server that parses, stores and
 * returns the same bodies shows what CPU time allows beside that. Another one, with the duties of a create (`duties`),
 * shows what it allows a server that also authenticates, validates, audits and caches.
 *
 * The slow disk is simulated: after each COMMIT the thread of SQLite sleeps (`../support/slow-sync.mjs`), in all
 * servers. In the plain bare server that is the main thread. So a sync takes that long, in addition to the time of the
 * real disk.
 *
 *   npm run bench -- slow-disk [rounds] [seconds a round]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { cpuOf } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import { CREATE_DUTIES, type CreateDuty, type CreateFloorSettings } from '../support/duties/create-floor.ts';
import { numberedCreate } from '../support/numbered-create.ts';
import { median, threeDigits } from '../support/numbers.ts';
import { endAll, makeFolder, type ServerProcess, startFleetServer, startFloor } from '../support/processes.ts';
import { type Figure, print } from '../support/report.ts';

const [ROUNDS = 3, SECONDS = 3] = process.argv.slice(2).map(Number);
const SYNC_MS = [0, 1, 3];
const WRITERS = 16;
const MAIN_THREAD = 'node-MainThread';
const WARM_UP = 5_000;

const driver = new Driver();

/** A server whose commits are counted and slowed. */
interface SlowServer {
  readonly server: ServerProcess;
  readonly numbered: ReturnType<typeof numberedCreate>;
  readonly commits: () => number;
  from: number;
}

async function startSlowly(
  start: (env: NodeJS.ProcessEnv) => Promise<ServerProcess & { readonly adminToken?: string }>,
  syncMs: number,
): Promise<SlowServer> {
  const file = join(await makeFolder(), 'commits');
  writeFileSync(file, new Uint8Array(8));
  const server = await start({
    ...process.env,
    NODE_OPTIONS: `--import=${new URL('../support/slow-sync.mjs', import.meta.url).href}`,
    CLUSTERPASS_BENCH_SYNC_MS: String(syncMs),
    CLUSTERPASS_BENCH_COMMITS: file,
  });
  const commits = (): number => Number(readFileSync(file).readBigUInt64LE());
  return { server, numbered: numberedCreate(server.adminToken ?? 'none'), commits, from: 0 };
}

async function startWithDuties(env: NodeJS.ProcessEnv): Promise<ServerProcess & { readonly adminToken: string }> {
  const folder = await makeFolder();
  const settings: CreateFloorSettings = {
    duties: Object.keys(CREATE_DUTIES) as CreateDuty[],
    adminToken: 'token-of-admin',
    database: join(folder, 'floor.db'),
    auditFile: join(folder, 'audit.log'),
  };
  const floor = await startFloor('create-duties', Buffer.from(JSON.stringify(settings)), env);
  return { ...floor, adminToken: settings.adminToken };
}

interface Creates {
  readonly rate: number;
  readonly perSync: number;
  /** Microseconds of CPU time of the main thread for one create. Other load on the machine changes it little. */
  readonly mainCpu: number;
}

async function create(slow: SlowServer, total: number): Promise<Creates> {
  const { server, numbered, from } = slow;
  const before = slow.commits();
  const mainBefore = cpuOf(server.pid, MAIN_THREAD);
  const { seconds } = await driver.run(server, { requests: { numbered, from }, connections: WRITERS, total });
  slow.from += total;
  const mainCpu = (cpuOf(server.pid, MAIN_THREAD) - mainBefore) / total;
  return { rate: total / seconds, perSync: total / (slow.commits() - before), mainCpu };
}

async function measure(syncMs: number): Promise<Figure[]> {
  const fleet = clusterFleet({ clusters: 100, bindings: 100 });
  const sides = {
    Clusterpass: await startSlowly((env) => startFleetServer(fleet, { env }), syncMs),
    'a bare server': await startSlowly((env) => startFloor('create', new Uint8Array(), env), syncMs),
    'a bare server with duties': await startSlowly(startWithDuties, syncMs),
  };
  const results = new Map<string, Creates[]>();
  const totals = new Map<string, number>();
  for (const [name, side] of Object.entries(sides)) {
    await create(side, WARM_UP);
    totals.set(name, Math.max(WRITERS, Math.round((await create(side, WARM_UP)).rate * SECONDS)));
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, side] of Object.entries(sides)) {
      const result = await create(side, totals.get(name) ?? WARM_UP);
      console.error(
        `  sync of ${syncMs} ms, ${name}: ${threeDigits(result.rate)}/s, ${threeDigits(result.perSync)} creates a sync`,
      );
      results.set(name, [...(results.get(name) ?? []), result]);
    }
  }
  for (const { server } of Object.values(sides)) await server.end();
  return [...results].flatMap(([name, rounds]) => {
    const here = `sync of ${syncMs} ms, ${name}`;
    const rate = median(rounds.map((one) => one.rate));
    const figures: Figure[] = [
      { name: `${here}: creates a second`, value: rate, unit: '/s' },
      { name: `${here}: creates that share a sync`, value: median(rounds.map((one) => one.perSync)), unit: 'creates' },
      {
        name: `${here}: creates a second that the CPU time of the main thread allows`,
        value: 1e6 / median(rounds.map((one) => one.mainCpu)),
        unit: '/s',
      },
    ];
    if (syncMs > 0) {
      const allowed = (WRITERS * 1000) / syncMs;
      figures.push({ name: `${here}: share of what the disk allows`, value: rate / allowed, unit: 'times' });
    }
    return figures;
  });
}

try {
  const figures: Figure[] = [];
  for (const syncMs of SYNC_MS) figures.push(...(await measure(syncMs)));
  print({ figures });
} finally {
  await endAll();
}

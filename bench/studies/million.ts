/**
 * A million objects beside a small fleet: what a start and an account cost, and whether a request costs more. Exits
 * with 1 when a goal is missed. It writes 1.2 million objects to the store first, which takes some minutes and 1 GB of
 * disk.
 *
 *   npm run bench -- million [clusters] [accounts] [--store sqlite|etcd]
 */
import { parseArgs } from 'node:util';
import { requestText } from '../support/client.ts';
import { memoryOf } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import type { Work } from '../support/driver-process.ts';
import { startEtcdFleets } from '../support/etcd-fleet.ts';
import { median } from '../support/numbers.ts';
import { accountsPath, CLUSTERS_PATH, clusterName } from '../support/objects.ts';
import { endAll, startFleetServer } from '../support/processes.ts';
import { allHold, type Figure, print } from '../support/report.ts';
import { startTokenMix, type TokenMix } from '../support/token-mix.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { store: { type: 'string', default: 'sqlite' } },
});
const [CLUSTERS = 100_000, ACCOUNTS = 900_000] = positionals.map(Number);
const STORE = values.store;
if (STORE !== 'sqlite' && STORE !== 'etcd') throw new Error(`--store must be sqlite or etcd, not ${STORE}`);
const BINDINGS = 1_000;
const FEW_CLUSTERS = 1_000;
const FEW_ACCOUNTS = 1_000;
const ROUNDS = 7;
const LIMIT_START_SECONDS = 60;
const LIMIT_ACCOUNT_BYTES = 1_024;
/** The cost of a request is at most so many times that in the small fleet. */
const LIMIT_GROWTH = 1.5;

const progress = (line: string): void => console.error(`  ${line}`);

const startFleet = STORE === 'etcd' ? await startEtcdFleets() : startFleetServer;

async function start(clusters: number, accounts: number): Promise<TokenMix & { readonly megabytes: number }> {
  const started = await startTokenMix({ clusters, accounts, bindings: BINDINGS }, progress, startFleet);
  const { startCpuSeconds, pid } = started.server;
  const megabytes = memoryOf(pid).now;
  progress(`${clusters} clusters: ${startCpuSeconds.toFixed(1)} s of CPU until it served, ${megabytes.toFixed(0)} MB`);
  return { ...started, megabytes };
}

const WORKS: Readonly<Record<string, (mix: TokenMix) => Work>> = {
  token: ({ requests }) => ({ requests, connections: 16, total: 2_000 }),
  'read of a cluster': (mix) => get(mix, `${CLUSTERS_PATH}/${clusterName(FEW_CLUSTERS / 2)}`, 1_000),
  'page of 500 clusters': (mix) => get(mix, `${CLUSTERS_PATH}?limit=500`, 100),
  'list of the accounts of a namespace': (mix) => get(mix, accountsPath(clusterName(FEW_CLUSTERS / 2), 'ci'), 1_000),
};

const get = ({ server }: TokenMix, path: string, total: number): Work => ({
  requests: { same: requestText('GET', path, { token: server.adminToken }) },
  connections: 8,
  total,
});

/** CPU time of a request in the large fleet, divided by that in the small one. */
async function growth(driver: Driver, large: TokenMix, small: TokenMix, workOf: (mix: TokenMix) => Work) {
  const costs = { large: [] as number[], small: [] as number[] };
  for (const mix of [large, small]) await driver.run(mix.server, { ...workOf(mix), total: 5 * workOf(mix).total });
  for (let round = 0; round < ROUNDS; round++) {
    costs.large.push((await driver.run(large.server, workOf(large))).cpuPerUnit);
    costs.small.push((await driver.run(small.server, workOf(small))).cpuPerUnit);
  }
  return { large: median(costs.large), small: median(costs.small) };
}

async function measure(): Promise<Figure[]> {
  const large = await start(CLUSTERS, ACCOUNTS);
  const withoutAccounts = await start(CLUSTERS, FEW_ACCOUNTS);
  await withoutAccounts.server.end();
  const small = await start(FEW_CLUSTERS, FEW_ACCOUNTS);
  const bytes = ((large.megabytes - withoutAccounts.megabytes) * 1024 ** 2) / (ACCOUNTS - FEW_ACCOUNTS);
  const figures: Figure[] = [
    { name: 'CPU time of a start', value: large.server.startCpuSeconds, unit: 's', limit: LIMIT_START_SECONDS },
    { name: 'resident memory', value: large.megabytes, unit: 'MB' },
    { name: 'resident memory for an account', value: bytes, unit: 'B', limit: LIMIT_ACCOUNT_BYTES },
  ];
  const driver = new Driver();
  for (const [name, workOf] of Object.entries(WORKS)) {
    const cost = await growth(driver, large, small, workOf);
    progress(`${name}: ${cost.large.toFixed(0)} us, in the small fleet ${cost.small.toFixed(0)} us`);
    figures.push({ name: `${name}, by CPU`, value: cost.large / cost.small, unit: 'times', limit: LIMIT_GROWTH });
  }
  return figures;
}

try {
  const report = { figures: await measure() };
  print(report);
  process.exitCode = allHold(report) ? 0 : 1;
} finally {
  await endAll();
}

import { requestText } from '../support/client.ts';
import { memoryOf } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import { type Figure, grown, type Settings, type SizedWork } from '../support/measure.ts';
import { accountsPath, CLUSTERS_PATH, clusterName } from '../support/objects.ts';
import { startTokenMix, type TokenMix } from '../support/token-requests.ts';

const CLUSTERS = 100_000;
const ACCOUNTS = 900_000;
const FEW = 1_000;
const LIMIT_START_SECONDS = 60;
const LIMIT_ACCOUNT_BYTES = 1_024;

const get = ({ server }: TokenMix, path: string, total: number): SizedWork => ({
  requests: { same: requestText('GET', path, { token: server.adminToken }) },
  ...{ connections: 8, total, warmUp: 5 * total },
});

/** Requests that a large fleet must not make more expensive. */
const WORKS = {
  token: ({ requests }: TokenMix): SizedWork => ({ requests, connections: 16, total: 2_000, warmUp: 10_000 }),
  'read of a cluster': (mix: TokenMix) => get(mix, `${CLUSTERS_PATH}/${clusterName(FEW / 2)}`, 1_000),
  'page of 500 clusters': (mix: TokenMix) => get(mix, `${CLUSTERS_PATH}?limit=500`, 100),
  'list of the accounts of a namespace': (mix: TokenMix) => get(mix, accountsPath(clusterName(FEW / 2), 'ci'), 1_000),
};

/**
 * A million objects beside a small fleet: what a start and an account cost, and whether a request costs more. It writes
 * 1.2 million objects to the store first, which takes some minutes and 1 GB of disk.
 */
export async function run(settings: Settings): Promise<Figure[]> {
  const start = (clusters: number, accounts: number) => startTokenMix({ clusters, accounts, bindings: 1_000 });
  const large = await start(CLUSTERS, ACCOUNTS);
  const megabytes = memoryOf(large.server.pid).now;
  const withoutAccounts = await start(CLUSTERS, FEW);
  const bytes = ((megabytes - memoryOf(withoutAccounts.server.pid).now) * 1024 ** 2) / (ACCOUNTS - FEW);
  await withoutAccounts.server.end();
  const small = await start(FEW, FEW);
  const figures: Figure[] = [
    { name: 'CPU time of a start', value: large.server.startCpuSeconds, unit: 's', limit: LIMIT_START_SECONDS },
    { name: 'resident memory for an account', value: bytes, unit: 'B', limit: LIMIT_ACCOUNT_BYTES },
  ];
  const driver = new Driver();
  for (const [name, workOf] of Object.entries(WORKS)) {
    const sides = [
      { server: large.server, work: workOf(large) },
      { server: small.server, work: workOf(small) },
    ] as const;
    figures.push(await grown(name, sides, driver, settings));
  }
  return figures;
}

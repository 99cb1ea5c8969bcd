import { requestText } from '../support/client.ts';
import { memoryOf } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import { type Figure, median, type Settings } from '../support/measure.ts';
import { accountsPath, CLUSTERS_PATH, clusterName } from '../support/objects.ts';
import { startTokenMix, type TokenMix } from '../support/token-requests.ts';

const CLUSTERS = 100_000;
const ACCOUNTS = 900_000;
const FEW = 1_000;
const ROUNDS = 7;
const LIMIT_START_SECONDS = 60;
const LIMIT_ACCOUNT_BYTES = 1_024;
/** The cost of a request is at most so many times that in the small fleet. */
const LIMIT_GROWTH = 1.5;

const get = ({ server }: TokenMix, path: string, total: number) => ({
  requests: { same: requestText('GET', path, { token: server.adminToken }) },
  connections: 8,
  total,
});

/** Requests that a large fleet must not make more expensive. */
const WORKS = {
  token: ({ requests }: TokenMix) => ({ requests, connections: 16, total: 2_000 }),
  'read of a cluster': (mix: TokenMix) => get(mix, `${CLUSTERS_PATH}/${clusterName(FEW / 2)}`, 1_000),
  'page of 500 clusters': (mix: TokenMix) => get(mix, `${CLUSTERS_PATH}?limit=500`, 100),
  'list of the accounts of a namespace': (mix: TokenMix) => get(mix, accountsPath(clusterName(FEW / 2), 'ci'), 1_000),
};

/**
 * A million objects beside a small fleet: what a start and an account cost, and whether a request costs more. It writes
 * 1.2 million objects to the store first, which takes some minutes and 1 GB of disk.
 */
export async function run({ progress }: Settings): Promise<Figure[]> {
  const start = async (clusters: number, accounts: number): Promise<TokenMix & { readonly megabytes: number }> => {
    const started = await startTokenMix({ clusters, accounts, bindings: 1_000 });
    const megabytes = memoryOf(started.server.pid).now;
    progress(`${clusters} clusters, ${accounts} accounts: ${megabytes.toFixed(0)} MB`);
    return { ...started, megabytes };
  };
  const large = await start(CLUSTERS, ACCOUNTS);
  const withoutAccounts = await start(CLUSTERS, FEW);
  await withoutAccounts.server.end();
  const small = await start(FEW, FEW);
  const bytes = ((large.megabytes - withoutAccounts.megabytes) * 1024 ** 2) / (ACCOUNTS - FEW);
  const figures: Figure[] = [
    { name: 'CPU time of a start', value: large.server.startCpuSeconds, unit: 's', limit: LIMIT_START_SECONDS },
    { name: 'resident memory', value: large.megabytes, unit: 'MB' },
    { name: 'resident memory for an account', value: bytes, unit: 'B', limit: LIMIT_ACCOUNT_BYTES },
  ];
  const driver = new Driver();
  for (const [name, workOf] of Object.entries(WORKS)) {
    const sides = [large, small].map((mix) => ({ server: mix.server, work: workOf(mix), costs: [] as number[] }));
    for (const { server, work } of sides) await driver.run(server, { ...work, total: 5 * work.total });
    for (let round = 0; round < ROUNDS; round++) {
      for (const { server, work, costs } of sides) costs.push((await driver.run(server, work)).cpuPerUnit);
    }
    const [inLarge = Number.NaN, inSmall = Number.NaN] = sides.map(({ costs }) => median(costs));
    const note = `${inLarge.toFixed(0)} us, in the small fleet ${inSmall.toFixed(0)} us`;
    figures.push({ name: `${name}, by CPU`, value: inLarge / inSmall, unit: 'times', limit: LIMIT_GROWTH, note });
  }
  return figures;
}

import { requestText } from './client.ts';
import { Driver } from './driver.ts';
import type { Requests, Work } from './driver-process.ts';
import { LIST } from './lists.ts';
import type { ServerProcess } from './processes.ts';

/** Clusters, accounts and bindings of the mix. */
export const WHOLE_MIX_FLEET = { clusters: 10_000, accounts: 2_000, bindings: 1_000 };

const MIX_MS = 60_000;

/** A minute of tokens, lists of all clusters by 16 clients, pages and selectors, all at once. */
export async function runWholeMix(server: ServerProcess, tokens: Requests, adminToken: string): Promise<void> {
  const list = (query: string): Work['requests'] => ({
    same: requestText('GET', `${LIST}${query}`, { token: adminToken }),
  });
  const works: Work[] = [
    { requests: tokens, connections: 16, total: 400 },
    { requests: list(''), connections: 16, total: 16 },
    { requests: list('?limit=500'), connections: 4, total: 20 },
    { requests: list('?labelSelector=team%3Dteam-01'), connections: 4, total: 20 },
  ];
  const until = performance.now() + MIX_MS;
  await Promise.all(
    works.map(async (work) => {
      const driver = new Driver();
      while (performance.now() < until) await driver.run(server, work);
    }),
  );
}

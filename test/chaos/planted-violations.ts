import { afterAll, beforeAll, expect, it } from 'vitest';
import { callAt } from '../e2e/support/server.ts';
import type { Deployment } from './deployment.ts';
import type { ProblemKind } from './history-checker.ts';
import { type Lie, LyingProxy } from './lying-proxy.ts';
import { runChaos } from './run.ts';

/** A busy machine is slow, and a binding has to end first. */
const FOUND_WITHIN_MS = 180_000;
const FOLLOW_MS = 20_000;

/**
 * Tests of the checker: with a replica that gives false responses, it must find each of them, and nothing before the
 * first of them. Afterwards the deployment is unchanged.
 */
export function checkPlantedViolations(deployed: () => Deployment): void {
  let proxy: LyingProxy;
  let first: Deployment['replicas'][number];
  beforeAll(async () => {
    const { replicas } = deployed();
    if (replicas[0] === undefined) throw new Error('there are three replicas');
    [first] = replicas as [typeof first];
    proxy = await LyingProxy.to(first.url);
    replicas[0] = {
      ...first,
      url: proxy.url,
      call: (method, path, options = {}) => callAt(proxy.url, first.adminToken, method, path, options),
    };
  });
  afterAll(() => {
    deployed().replicas[0] = first;
    proxy.close();
  });

  let round = 0;
  const findIt = async (lie: Lie, kind: ProblemKind): Promise<void> => {
    round += 1;
    await runChaos(deployed(), {
      prefix: `r${round}-`,
      watchers: 6,
      writers: 3,
      tokenClients: 1,
      revocationClients: 3,
      endingClients: 2,
      timeLimits: false,
      pauseMs: 50,
      // A watch that was not told of an end is waited for.
      followMs: FOLLOW_MS,
      random: Math.random,
      next: () => undefined,
      during: async () => {},
      calm: async (progress) => {
        await expect.poll(() => progress.writes).toBeGreaterThan(10);
        await expect.poll(() => progress.revocations).toBeGreaterThan(1);
        expect([...progress.problems.keys()]).toEqual([]);
        proxy.lie = lie;
        try {
          await expect.poll(() => progress.problems.has(kind), { timeout: FOUND_WITHIN_MS }).toBe(true);
        } finally {
          proxy.lie = undefined;
        }
      },
      report: () => {},
    });
  };

  it.each<[Lie, ProblemKind]>([
    ['lost write', 'lost write'],
    ['event twice', 'event twice or out of order'],
    ['missed event', 'missed event'],
    ['stale read', 'stale read'],
    ['late revocation', 'late revocation'],
    ['granted after the end', 'granted after the end'],
    ['shown after the end', 'shown after the end'],
  ])('%s is found, and nothing before', findIt, 2 * FOUND_WITHIN_MS);
}

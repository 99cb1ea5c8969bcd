import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Deployment } from './deployment.ts';
import type { ProblemKind } from './history-checker.ts';
import { type Lie, LyingProxy } from './lying-proxy.ts';
import { runChaos } from './run.ts';

/**
 * Tests of the checker: with a replica that gives false responses, it must find each of them. Afterwards the
 * deployment is unchanged.
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
      call: (method, path, options) => callAt(proxy.url, first.adminToken, method, path, options),
    };
  });
  afterAll(() => {
    deployed().replicas[0] = first;
    proxy.close();
  });

  let round = 0;
  const found = async (lie?: Lie, kind?: ProblemKind): Promise<ReadonlySet<ProblemKind>> => {
    let kinds: ReadonlySet<ProblemKind> = new Set();
    round += 1;
    await runChaos(deployed(), {
      prefix: `r${round}-`,
      watchers: 6,
      writers: 3,
      tokenClients: 1,
      revocationClients: 3,
      timeLimits: false,
      pauseMs: 10,
      random: Math.random,
      next: () => undefined,
      during: async () => {},
      calm: async (progress) => {
        await expect.poll(() => progress.writes).toBeGreaterThan(10);
        await expect.poll(() => progress.revocations).toBeGreaterThan(1);
        proxy.lie = lie;
        // Until it is found, or for as long as it took to find the others.
        const goal = { writes: progress.writes + 60, revocations: progress.revocations + 8 };
        if (kind === undefined) {
          await expect
            .poll(() => progress.writes >= goal.writes && progress.revocations >= goal.revocations)
            .toBe(true);
        } else await expect.poll(() => progress.problems.has(kind)).toBe(true);
        proxy.lie = undefined;
      },
      report: () => {},
    }).then(({ checker }) => {
      kinds = new Set(checker.problems.keys());
    });
    return kinds;
  };

  it('without a lie nothing is found', async () => {
    expect([...(await found())]).toEqual([]);
  });

  it.each<[Lie, ProblemKind]>([
    ['lost write', 'lost write'],
    ['event twice', 'event twice or out of order'],
    ['missed event', 'missed event'],
    ['stale read', 'stale read'],
    ['late revocation', 'late revocation'],
  ])('%s is found', async (lie, kind) => {
    expect([...(await found(lie, kind))]).toContain(kind);
  });
}

async function callAt(
  url: string,
  adminToken: string,
  method: string,
  path: string,
  { token = adminToken, body, headers = {}, signal }: Parameters<Deployment['replicas'][number]['call']>[2] = {},
): Promise<Awaited<ReturnType<Deployment['replicas'][number]['call']>>> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      'User-Agent': 'clusterpass-test',
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  return {
    code: response.status,
    headers: response.headers,
    text,
    json: text === '' ? {} : safeJson(text),
    warnings: [],
  };
}

const safeJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
};

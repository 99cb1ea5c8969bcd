import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { alternate, compared, holds, lineOf, median, percentile } from '../../bench/support/measure.ts';
import { type MixedRequest, mixedRequests, tokenFleet } from '../../bench/support/token-fleet.ts';

const BENCH = fileURLToPath(new URL('../../bench/', import.meta.url));

const round = (rate: number, cpuPerUnit: number) => ({ rate, cpuPerUnit });
const figures = (cpuShare: number) =>
  compared('x', cpuShare, {
    ours: [round(50, 20), round(90, 25), round(70, 40)],
    floor: [round(100, 10), round(100, 20), round(100, 20)],
  });

describe('the comparison with a floor', () => {
  test('compares round by round, and gives the lowest and the highest round', () => {
    const [byCpu, byRate] = figures(0.5);
    expect(byCpu).toMatchObject({ value: 0.5, range: [0.5, 0.8], least: 0.5 });
    expect(byRate).toMatchObject({ value: 0.7, range: [0.5, 0.9] });
    expect(median([1, 2, 3, 10])).toBe(2.5);
    expect([0.5, 0.99, 1].map((share) => percentile([4, 3, 2, 1], share))).toEqual([3, 4, 4]);
  });

  test('holds a goal by the median of the rounds', () => {
    expect([0.5, 0.51].map((cpuShare) => figures(cpuShare).every(holds))).toEqual([true, false]);
    expect(holds({ name: 'x', value: 3, unit: 'ms', limit: 2 })).toBe(false);
  });

  test('says each figure in one line', () => {
    expect(figures(0.51).map(lineOf)).toEqual([
      'x, share by CPU: 0.50 (0.50-0.80); 25.0 and 20.0 us each; goal at least 0.51: MISSED',
      'x, share by rate: 0.70 (0.50-0.90); 70.0 and 100 a second',
    ]);
  });

  test('alternates the side that begins', async () => {
    const order: string[] = [];
    const side = (name: string) => async () => {
      order.push(name);
      return round(1, 1);
    };
    await alternate({ rounds: 3, progress: () => {} }, side('ours'), side('floor'));
    expect(order).toEqual(['ours', 'floor', 'floor', 'ours', 'ours', 'floor']);
  });
});

describe('the requests of the token fleet', () => {
  const size = { clusters: 1_000, accounts: 10_000, bindings: 1_000 };
  const requests = mixedRequests(size, 4);
  const accountOf = ({ account }: MixedRequest): string => JSON.stringify(account);
  const distinct = (of: (request: MixedRequest) => unknown): number => new Set(requests.map(of)).size;

  test('come from 200 callers, for 10,000 accounts, with 40 audiences and lifetimes', () => {
    expect(distinct(accountOf)).toBe(10_000);
    expect(distinct(({ account }) => account.cluster)).toBe(1_000);
    expect(distinct(({ asked }) => asked.audience)).toBe(40);
    expect(distinct(({ asked }) => asked.seconds)).toBe(40);
    const callers = [...new Set(requests.map(({ caller }) => caller))];
    expect(callers.filter((caller) => 'member' in caller)).toHaveLength(100);
    expect(callers.filter((caller) => 'automation' in caller)).toHaveLength(100);
  });

  test('name no account twice within 5,000 requests, also when they are sent again', () => {
    const seenAt = new Map<string, number>();
    let closest = Number.POSITIVE_INFINITY;
    for (const [index, request] of [...requests, ...requests].entries()) {
      const account = accountOf(request);
      closest = Math.min(closest, index - (seenAt.get(account) ?? Number.NEGATIVE_INFINITY));
      seenAt.set(account, index);
    }
    expect(closest).toBeGreaterThan(5_000);
  });

  test('are the same in every run', () => {
    expect(mixedRequests(size, 4).slice(0, 100)).toEqual(requests.slice(0, 100));
  });

  test('are allowed by bindings for some clusters, and not by one for the whole fleet', () => {
    const bindings = [...tokenFleet(size).objects()]
      .map(({ body }) => body as { kind: string; metadata: { name: string } })
      .filter(({ kind }) => kind.endsWith('RoleBinding'));
    expect(bindings).toHaveLength(1_000);
    const ofTeams = bindings.filter(({ metadata }) => metadata.name.startsWith('team-'));
    expect(ofTeams).toHaveLength(250);
    expect([...new Set(ofTeams.map(({ kind }) => kind))]).toEqual(['FleetRoleBinding']);
  });
});

describe('npm run bench', () => {
  test('rejects an unknown name, and offers the programs of both folders by name', () => {
    const { status, stderr } = spawnSync(process.execPath, [`${BENCH}main.ts`, 'unknown'], { encoding: 'utf8' });
    expect(status).toBe(2);
    const names = /expected (.*)/.exec(stderr)?.[1]?.split(', ') ?? [];
    const programs = ['goals', 'studies'].flatMap((folder) => readdirSync(`${BENCH}${folder}`));
    expect(names.sort()).toEqual(programs.map((file) => file.replace('.ts', '')).sort());
  });
});

import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { alternate, holds, rowOf, type TableRow } from '../../bench/support/compare.ts';
import { FleetIndex } from '../../bench/support/duties/fleet-index.ts';
import { Refusal } from '../../bench/support/duties/response.ts';
import { parseStrictly } from '../../bench/support/duties/strict-json.ts';
import { median, percentile } from '../../bench/support/numbers.ts';
import { type MixedRequest, mixedRequests, tokenFleet } from '../../bench/support/token-fleet.ts';
import type { WatchJob } from '../../bench/support/watch-client.ts';
import { selfSigned } from '../../src/clusters/upstream/certificates.fixture.ts';

const BENCH = fileURLToPath(new URL('../../bench/', import.meta.url));

const round = (rate: number, cpuPerUnit: number) => ({ rate, cpuPerUnit });
const row = (goal: TableRow['goal']): TableRow =>
  rowOf(
    { name: 'x', unit: 'units', about: '', goal },
    {
      ours: [round(50, 20), round(90, 25), round(70, 40)],
      floor: [round(100, 10), round(100, 20), round(100, 20)],
    },
  );

describe('the comparison with a floor', () => {
  test('compares round by round, and gives the lowest and the highest round', () => {
    expect(row({ cpuShare: 0.5 }).cpuShare).toEqual([0.5, 0.5, 0.8]);
    expect(row({ cpuShare: 0.5 }).rateShare).toEqual([0.7, 0.5, 0.9]);
    expect(median([1, 2, 3, 10])).toBe(2.5);
    expect([0.5, 0.99, 1].map((share) => percentile([4, 3, 2, 1], share))).toEqual([3, 4, 4]);
  });

  test('holds a goal by the median of the rounds', () => {
    expect([{ cpuShare: 0.5 }, { cpuShare: 0.51 }].map((goal) => holds(row(goal)))).toEqual([true, false]);
    expect([{ rateShare: 0.7 }, { rateShare: 0.71 }].map((goal) => holds(row(goal)))).toEqual([true, false]);
  });

  test('alternates the side that begins', async () => {
    const order: string[] = [];
    const side = (name: string) => async () => {
      order.push(name);
      return round(1, 1);
    };
    await alternate({ rounds: 3, seconds: 1 }, side('ours'), side('floor'));
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

  test('are allowed by bindings with a cluster selector, and not by one for the whole fleet', () => {
    const bindings = [...tokenFleet(size).objects()]
      .filter(({ kind }) => kind === 'clusterRoleBindings')
      .map(({ body }) => body as { metadata: { name: string; annotations?: Record<string, string> } });
    expect(bindings).toHaveLength(1_000);
    const ofTeams = bindings.filter(({ metadata }) => metadata.name.startsWith('team-'));
    expect(ofTeams).toHaveLength(250);
    const selectors = ofTeams.map(({ metadata }) => metadata.annotations?.['clusterpass.dev/clusters']);
    for (const selector of selectors) expect(selector).toMatch(/^(team|kubernetes\.io\/metadata\.name)=/);
  });
});

describe('a floor with duties', () => {
  const parse = (text: string) => parseStrictly(Buffer.from(text));

  test('refuses a body that parsers read differently', () => {
    for (const text of ['{"a":1,"a":1}', '{"a":[{"b":1,\n"b":2}]}', '{"a":1,"\\u0061":1}', '{"a":1', '']) {
      expect(() => parse(text)).toThrow(Refusal);
    }
    expect(() => parseStrictly(Buffer.from([0x22, 0xff, 0x22]))).toThrow(Refusal);
  });

  test('accepts the same key in two objects, and braces and colons in a text', () => {
    const value = { a: { b: 1 }, c: [{ b: 1 }, { b: 2 }], d: '":{"b"', b: '\\' };
    expect(parse(JSON.stringify(value))).toEqual(value);
    expect(parse(JSON.stringify(value, undefined, 2))).toEqual(value);
  });

  test('permits what a binding of the team allows, in the clusters that its selector names', () => {
    const index = new FleetIndex(tokenFleet({ clusters: 150, accounts: 150, bindings: 300 }).objects());
    const member = { name: 'ann', groups: [], subjects: ['User ann', 'Group team-01'] };
    const question = 'create /serviceaccounts/token';
    const reason = 'RBAC: allowed by ClusterRoleBinding "team-01-members" of ClusterRole "issuer" to Group team-01';
    expect(index.reasonFor(member, question, 'c-00000001')).toBe(reason);
    // Of another team; of the team, in production.
    expect(index.reasonFor(member, question, 'c-00000002')).toBeUndefined();
    expect(index.reasonFor(member, question, 'c-00000101')).toBeUndefined();
    expect(index.reasonFor(member, 'delete /serviceaccounts', 'c-00000001')).toBeUndefined();
  });
});

describe('the client with many watches', () => {
  test('fails at a 410, because it does not list again', async () => {
    const { cert, key } = selfSigned('server');
    const server = createServer({ cert, key }, (_, response) => response.writeHead(410).end('{"code":410}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = fork(`${BENCH}support/watch-client.ts`, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    onTestFinished(() => {
      client.kill();
      server.close();
    });
    client.send({ port, watches: 1, localAddress: '127.0.0.1', token: 'x', resourceVersion: '1' } satisfies WatchJob);
    const [code] = await once(client, 'exit');
    expect(code).toBe(1);
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

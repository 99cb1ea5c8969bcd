import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWithEtcd, type Etcd, startEtcd } from '../conformance/etcd-process.ts';
import { addCluster, CLUSTERS, touch } from './support/fleet.ts';
import { type Server, startServer } from './support/server.ts';
import { Watch } from './support/watch.ts';

const WORKERS = ['--workers', '2', '--log-level', 'debug'];

const workersOf = ({ pid }: Server): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

/** Which workers have answered requests so far. */
const servedBy = ({ output }: Server): Set<string> =>
  new Set([...output.stderr.matchAll(/"worker":(\d+).*"msg":"request"/g)].map(([, worker]) => worker ?? ''));

/** On a connection of its own, so that either worker may be the one who answers. */
async function noteOf(server: Server, name: string): Promise<string> {
  const headers = { Authorization: `Bearer ${server.adminToken}`, 'User-Agent': 'clusterpass-test' };
  const request = get(`${server.url}${CLUSTERS}?fieldSelector=metadata.name=${name}`, { headers, agent: false });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const body = await text(answer);
  expect(answer.statusCode, body).toBe(200);
  return JSON.parse(body).items[0].metadata.annotations.note;
}

function serveTogether(start: () => Promise<Server>): void {
  let server: Server;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server?.destroy());

  it('a write that one process has acknowledged is in the next list, whichever answers', async () => {
    await Promise.all(
      Array.from({ length: 8 }, async (_, lane) => {
        const name = `lane-${lane}`;
        await addCluster(server, name);
        for (let round = 0; round < 6; round++) {
          await touch(server, name, `${round}`);
          expect(await Promise.all([noteOf(server, name), noteOf(server, name)])).toEqual([`${round}`, `${round}`]);
        }
      }),
    );
    expect(servedBy(server).size).toBe(2);
  });

  it('a process that is killed is replaced, and nothing that was acknowledged is lost', {
    timeout: 180_000,
  }, async () => {
    const before = workersOf(server);
    expect(before).toHaveLength(2);
    const version = await addCluster(server, 'steady');
    const path = `${CLUSTERS}?watch=1&fieldSelector=metadata.name=steady&resourceVersion=${version}`;
    const watches = await Promise.all([1, 2, 3, 4].map(() => Watch.open(server, path)));
    process.kill(before[0] ?? 0, 'SIGKILL');
    // A connection to the one that died breaks; the next one finds the other.
    const touched = (note: string) =>
      expect.poll(() => touch(server, 'steady', note).catch(() => 0), { timeout: 60_000, interval: 10 }).not.toBe(0);
    await touched('after');
    const replaced = () => workersOf(server).filter((pid) => !before.includes(pid)).length;
    await expect.poll(replaced, { timeout: 60_000, interval: 50 }).toBe(1);
    expect(workersOf(server)).toContain(before[1]);
    for (const watch of watches) {
      const seen = await watch.next().catch(() => undefined);
      // It went on, or it was cut and is resumed at the other.
      const event = seen ?? (await (await Watch.open(server, path)).next());
      expect(event?.object.metadata.annotations.note).toBe('after');
      watch.close();
    }
    const burst = () => Promise.all(Array.from({ length: 16 }, () => noteOf(server, 'steady')));
    const served = async (): Promise<boolean> => {
      await burst();
      return servedBy(server).has('3');
    };
    await expect.poll(served, { timeout: 60_000, interval: 10 }).toBe(true);
  });

  it('SIGTERM ends all of them in good order', async () => {
    const all = workersOf(server);
    expect(await server.stop()).toBe(0);
    for (const pid of all) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
    expect(server.output.stderr.split('\n').filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });
}

describe('workers on SQLite', () => {
  serveTogether(() => startServer({ args: WORKERS }));

  it('that cannot start say so once', async () => {
    const other = await startServer();
    try {
      const port = Number(new URL(other.url).port);
      const refused = await startServer({ args: WORKERS, port }).catch((error: Error) => error);
      expect(refused).toBeInstanceOf(Error);
      expect((refused as Error).message.match(/is in use by another program/g)).toHaveLength(1);
    } finally {
      await other.destroy();
    }
  });
});

describeWithEtcd('workers on etcd', () => {
  let etcd: Etcd;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd?.destroy());
  serveTogether(() => startServer({ args: [...WORKERS, '--store', `etcd://${etcd.endpoints.join(',')}/fleet`] }));
});

import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { CLUSTER_TYPE } from '../../../src/api/cluster.fixture.ts';
import { tokenPath } from './objects.ts';
import { CLUSTERS } from './paths.ts';
import type { Server } from './server.ts';
import { Watch } from './watch.ts';

export interface Load {
  readonly watches: number;
  /** Requests a second, if the machine is fast enough. */
  readonly rate: number;
  /** The server gets SIGTERM after this many responses. */
  readonly before: number;
  /** How long requests continue after readiness has failed: until a load balancer would have noticed. */
  readonly noticedAfterMs?: number;
}

export interface Stopped {
  /** The number of responses by status code, or by the message of an error. */
  readonly answers: Readonly<Record<string, number>>;
  /** Responses after SIGTERM. */
  readonly whileStopping: number;
  /** Names of the clusters whose creation was acknowledged. */
  readonly acknowledged: readonly string[];
  /** The last event of each watch. */
  readonly endings: readonly (string | undefined)[];
  readonly ready: number;
  readonly exitCode: number | null;
  readonly exitSeconds: number;
  /** Responses a second until SIGTERM. */
  readonly reached: number;
}

/** One request of this many creates a cluster; the others request tokens. */
const WRITE_EVERY = 20;
/** Pending requests at most: a server that does not keep up gets no more. */
const MOST_AT_ONCE = 64;

/**
 * Stops a server under load, as behind a load balancer: requests come over persistent connections as long as the server
 * reports that it is ready.
 */
export async function stopUnderLoad(
  server: Server,
  { watches: count, rate, before, noticedAfterMs = 0 }: Load,
): Promise<Stopped> {
  const path = `${CLUSTERS}?watch=true&allowWatchBookmarks=true`;
  const watches = await Promise.all(Array.from({ length: count }, () => Watch.open(server, path)));
  const endings = watches.map(async (watch) => (await watch.rest()).at(-1)?.type);
  const agent = new Agent({ keepAlive: true });
  const ask = (method: string, path: string, body?: object): Promise<number | string> =>
    new Promise((resolve) => {
      const headers = { Authorization: `Bearer ${server.adminToken}`, 'Content-Type': 'application/json' };
      const req = request(`${server.url}${path}`, { method, headers, agent }, (res) => {
        res.resume();
        res.once('end', () => resolve(res.statusCode ?? 0));
        res.once('error', (error) => resolve(error.message));
      });
      req.once('error', (error) => resolve(error.message));
      req.end(body === undefined ? undefined : JSON.stringify(body));
    });

  const answers: Record<string, number> = {};
  const acknowledged: string[] = [];
  let answered = 0;
  const one = async (turn: number): Promise<void> => {
    const name = `c-${turn}`;
    const writes = turn % WRITE_EVERY === 0;
    const outcome = writes
      ? await ask('POST', CLUSTERS, { ...CLUSTER_TYPE, metadata: { name } })
      : await ask('POST', tokenPath(), { spec: { audiences: [] } });
    answers[outcome] = (answers[outcome] ?? 0) + 1;
    answered += 1;
    if (writes && outcome === 201) acknowledged.push(name);
  };
  let ready = true;
  let over = (): void => {};
  const enough = new Promise<void>((resolve) => {
    over = resolve;
  });
  const underWay = new Set<Promise<void>>();
  const begun = performance.now();
  const drive = async (): Promise<void> => {
    for (let turn = 0; ready; turn += 1) {
      const request = one(turn).finally(() => underWay.delete(request));
      underWay.add(request);
      if (answered >= before) over();
      if (underWay.size >= MOST_AT_ONCE) await Promise.race(underWay);
      await delay(Math.max(0, begun + ((turn + 1) * 1000) / rate - performance.now()));
    }
    await Promise.all(underWay);
  };
  const driven = drive();
  await enough;
  const reached = answered / ((performance.now() - begun) / 1000);
  const answeredBefore = answered;
  const asked = performance.now();
  const exit = server.stop().then((code) => ({ code, seconds: (performance.now() - asked) / 1000 }));
  let health = await ask('GET', '/readyz');
  while (health === 200) health = await ask('GET', '/readyz');
  await delay(noticedAfterMs);
  ready = false;
  await driven;
  const { code, seconds } = await exit;
  agent.destroy();
  return {
    answers,
    whileStopping: answered - answeredBefore,
    acknowledged,
    endings: await Promise.all(endings),
    ready: Number(health),
    exitCode: code,
    exitSeconds: seconds,
    reached,
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import { CLUSTERS } from '../e2e/support/paths.ts';
import type { Answer, CallOptions, Server } from '../e2e/support/server.ts';
import type { HistoryChecker, Shown } from './history-checker.ts';

/** The replicas, which may be replaced during the run, and the checker. */
export interface World {
  readonly replicas: Server[];
  readonly checker: HistoryChecker;
  readonly running: () => boolean;
  /** Between two operations of a client, beyond what it waits anyway. */
  readonly pauseMs: number;
  /** Whether all replicas have the time of this process. */
  readonly isClockRight: () => boolean;
  /** The address of a load balancer in front of the replicas. */
  readonly front?: string | undefined;
}

/** The timeout of a request. It is then retried at another replica. */
export const CALL_MS = 8_000;
/** The label of the watched objects. */
export const LABELS = { chaos: 'yes' };
const SELECTOR = `labelSelector=${encodeURIComponent('chaos=yes')}`;
/** The path of the watched objects. */
export const LIST = `${CLUSTERS}?${SELECTOR}`;

const pick = ({ replicas }: World): { server: Server; index: number } => {
  const index = Math.floor(Math.random() * replicas.length);
  return { server: replicas[index] as Server, index };
};

const get = (server: Server, path: string): Promise<Answer> =>
  server.call('GET', path, { signal: AbortSignal.timeout(CALL_MS) });

/** With a resourceVersion, so that a late write cannot undo a newer one. */
const put = (server: Server, name: string, base: number, content: string): Promise<Answer> =>
  server.call('PATCH', `${CLUSTERS}/${name}`, {
    body: { metadata: { resourceVersion: `${base}`, annotations: { n: content } } },
    signal: AbortSignal.timeout(CALL_MS),
  });

const versionOf = ({ json }: Answer): number => Number(json.metadata.resourceVersion);

/** Counts up in its own object, at random replicas, and reads each count at another replica. */
export async function write(world: World, name: string): Promise<{ unknown: number }> {
  let acknowledged = 0;
  let unknown = 0;
  let base: number | undefined;
  for (let n = 1; world.running(); n++) {
    try {
      base ??= versionOf(await get(pick(world).server, `${CLUSTERS}/${name}`));
      const answer = await put(pick(world).server, name, base, `${n}`);
      if (answer.code !== 200) throw new Error(`${answer.code}`);
      const version = versionOf(answer);
      world.checker.acknowledged({ name, content: `${n}`, base, version });
      base = version;
      acknowledged = n;
    } catch {
      unknown += 1;
      base = undefined;
      await delay(50);
    }
    await delay(world.pauseMs);
    const { server, index } = pick(world);
    const before = acknowledged;
    const got = await get(server, `${CLUSTERS}/${name}`).catch(() => undefined);
    if (got?.code !== 200) continue;
    const seen = Number(got.json.metadata.annotations?.n ?? 0);
    world.checker.read({ name, acknowledged: before, tried: n, seen, replica: index });
  }
  return { unknown };
}

/** Concurrent writes on top of one version, each at another replica: at most one may succeed. */
export async function contend(world: World, name: string, contenders: number): Promise<void> {
  for (let round = 0; world.running(); round++) {
    const seen = await get(pick(world).server, `${CLUSTERS}/${name}`).catch(() => undefined);
    if (seen?.code !== 200) {
      await delay(50);
      continue;
    }
    const base = versionOf(seen);
    const answers = await Promise.all(
      Array.from({ length: contenders }, async (_, i) => {
        const content = `${round}.${i}`;
        const server = world.replicas[(round + i) % world.replicas.length] as Server;
        const answer = await put(server, name, base, content).catch(() => undefined);
        if (answer?.code === 200) world.checker.acknowledged({ name, content, base, version: versionOf(answer) });
        return answer?.code;
      }),
    );
    world.checker.contended();
    // A write without an answer may have succeeded.
    if (answers.every((code) => code === 409)) world.checker.allRefused(name, base);
    await delay(20 + world.pauseMs);
  }
}

/**
 * Watches all objects, resumes when the connection is cut, and lists again after 410. The first watches start at one
 * replica each, so that every replica has a watch.
 */
export async function watch({ checker, ...world }: World, id: number, goal: () => number | undefined): Promise<void> {
  const log = checker.watcher();
  const done = (): boolean => {
    const end = goal();
    return end !== undefined && log.position >= end;
  };
  let mustList = true;
  let first = world.replicas[id];
  while (!done()) {
    const server = first ?? pick({ ...world, checker }).server;
    first = undefined;
    try {
      if (mustList) {
        const list = await get(server, LIST);
        if (list.code !== 200) throw new Error(`${list.code}`);
        log.listed(versionOf(list));
        mustList = false;
      } else checker.resumed();
      mustList = (await follow(server, log, done)) === 'gone';
    } catch {
      await delay(100);
    }
  }
}

/** Takes the events of a watch, over all its connections. */
export interface Follower {
  readonly position: number;
  shown(event: Shown, type: string): void;
  reached(version: number): void;
}

export async function follow(
  server: Server,
  log: Follower,
  done: () => boolean,
  { token = server.adminToken, headers = {} }: Pick<CallOptions, 'token' | 'headers'> = {},
): Promise<'gone' | 'cut'> {
  const query = `&watch=1&allowWatchBookmarks=true&resourceVersion=${log.position}`;
  const stop = new AbortController();
  // A replica that hangs sends nothing: after a timeout the next replica is used.
  let timer = setTimeout(() => stop.abort(), CALL_MS);
  const ticks = setInterval(() => {
    if (done()) stop.abort();
  }, 100);
  try {
    const response = await fetch(`${server.url}${LIST}${query}`, {
      headers: { Authorization: `Bearer ${token}`, 'User-Agent': 'clusterpass-chaos', ...headers },
      signal: stop.signal,
    });
    if (response.status === 410) return 'gone';
    if (response.status !== 200 || response.body === null) throw new Error(`${response.status}`);
    let rest = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), CALL_MS);
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line);
        if (type === 'ERROR') return object.code === 410 ? 'gone' : 'cut';
        const version = Number(object.metadata.resourceVersion);
        if (type === 'BOOKMARK') log.reached(version);
        else log.shown({ name: object.metadata.name, content: object.metadata.annotations?.n ?? '', version }, type);
      }
    }
    return 'cut';
  } finally {
    clearTimeout(timer);
    clearInterval(ticks);
    stop.abort();
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { CLUSTERS } from '../e2e/support/fleet.ts';
import type { Server } from '../e2e/support/server.ts';
import { tokenPath } from '../e2e/support/token-world.ts';
import type { Acknowledged, FreshRead, Stretch } from './history.ts';

/** A set of replicas that may be replaced while clients use them. */
export interface World {
  readonly replicas: Server[];
  readonly random: () => number;
  readonly running: () => boolean;
}

/** No client waits for ever: what hangs is tried elsewhere. */
const CALL_MS = 8_000;
const LABEL = 'chaos=yes';

const pick = ({ replicas, random }: World): { server: Server; index: number } => {
  const index = Math.floor(random() * replicas.length);
  return { server: replicas[index] as Server, index };
};

const call = (server: Server, method: string, path: string, body?: object) =>
  server.call(method, path, {
    signal: AbortSignal.timeout(CALL_MS),
    ...(body === undefined ? {} : { body }),
    ...(method === 'PATCH' ? { headers: { 'Content-Type': 'application/merge-patch+json' } } : {}),
  });

/** Counts up in an object of its own, at one replica after the other, and looks for each count at another one. */
export async function write(
  world: World,
  writer: string,
): Promise<{ writes: Acknowledged[]; reads: FreshRead[]; unknown: number }> {
  const writes: Acknowledged[] = [];
  const reads: FreshRead[] = [];
  let acknowledged = 0;
  let unknown = 0;
  let version: string | undefined;
  for (let n = 1; world.running(); n++) {
    try {
      version ??= (await call(pick(world).server, 'GET', `${CLUSTERS}/${writer}`)).json.metadata.resourceVersion;
      // On top of the version that was seen, so that a write that arrives late can not undo what came after it.
      const body = { metadata: { resourceVersion: version, annotations: { n: `${n}` } } };
      const answer = await call(pick(world).server, 'PATCH', `${CLUSTERS}/${writer}`, body);
      if (answer.code !== 200) throw new Error(`${answer.code}`);
      version = answer.json.metadata.resourceVersion;
      acknowledged = n;
      writes.push({ writer, n, version: Number(version) });
    } catch {
      unknown += 1;
      version = undefined;
      await delay(50);
    }
    const { server, index } = pick(world);
    const before = acknowledged;
    const got = await call(server, 'GET', `${CLUSTERS}/${writer}`).catch(() => undefined);
    if (got?.code !== 200) continue;
    reads.push({
      writer,
      acknowledged: before,
      tried: n,
      seen: Number(got.json.metadata.annotations?.n ?? 0),
      replica: index,
    });
  }
  return { writes, reads, unknown };
}

/** Watches everything, resumes where it was when it is cut, and lists anew when it must. */
export async function watch(world: World, goal: () => number | undefined): Promise<Stretch[]> {
  const stretches: Stretch[] = [];
  let current: Stretch | undefined;
  const done = (): boolean => {
    const end = goal();
    return end !== undefined && (current?.upTo ?? 0) >= end;
  };
  while (!done()) {
    const { server } = pick(world);
    try {
      if (current === undefined) {
        const list = await call(server, 'GET', `${CLUSTERS}?labelSelector=${encodeURIComponent(LABEL)}`);
        if (list.code !== 200) throw new Error(`${list.code}`);
        const version = Number(list.json.metadata.resourceVersion);
        current = { after: version, upTo: version, events: [] };
        stretches.push(current);
      }
      if ((await follow(server, current, done)) === 'gone') current = undefined;
    } catch {
      await delay(100);
    }
  }
  return stretches;
}

async function follow(server: Server, stretch: Stretch, done: () => boolean): Promise<'gone' | 'cut'> {
  const query = `?watch=1&allowWatchBookmarks=true&labelSelector=${encodeURIComponent(LABEL)}&resourceVersion=${stretch.upTo}`;
  const stop = new AbortController();
  const response = await fetch(`${server.url}${CLUSTERS}${query}`, {
    headers: { Authorization: `Bearer ${server.adminToken}`, 'User-Agent': 'clusterpass-chaos' },
    signal: stop.signal,
  });
  if (response.status === 410) return 'gone';
  if (response.status !== 200 || response.body === null) {
    stop.abort();
    throw new Error(`${response.status}`);
  }
  // A replica that hangs says nothing: after a while somebody else is asked.
  let timer = setTimeout(() => stop.abort(), CALL_MS);
  const ticks = setInterval(() => {
    if (done()) stop.abort();
  }, 100);
  try {
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
        if (type !== 'BOOKMARK') {
          const n = Number(object.metadata.annotations?.n ?? 0);
          stretch.events.push({ name: object.metadata.name, n, version });
        }
        stretch.upTo = version;
      }
    }
    return 'cut';
  } finally {
    clearTimeout(timer);
    clearInterval(ticks);
    stop.abort();
  }
}

/** Asks for tokens at one replica, and shows them to another. */
export async function askForTokens(world: World): Promise<{ issued: number; accepted: number; problems: string[] }> {
  const result = { issued: 0, accepted: 0, problems: [] as string[] };
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
  while (world.running()) {
    const issued = await call(pick(world).server, 'POST', tokenPath(), body).catch(() => undefined);
    if (issued !== undefined && issued.code !== 201 && issued.code < 500)
      result.problems.push(`a token was refused: ${issued.code} ${issued.text}`);
    if (issued?.code !== 201) {
      await delay(50);
      continue;
    }
    result.issued += 1;
    const { server } = pick(world);
    const token: string = issued.json.status.token;
    const shown = await server
      .call('GET', '/auth/v1/clusters?resourceVersion=0', { token, signal: AbortSignal.timeout(CALL_MS) })
      .catch(() => undefined);
    if (shown?.code === 200) result.accepted += 1;
    else if (shown?.code === 401) result.problems.push('a replica refused a token of another');
    await delay(20);
  }
  return result;
}

import { describe, expect, it, onTestFinished } from 'vitest';
import type { ApiObject } from '../api/kind.ts';
import {
  bookmark,
  cluster,
  fakeTiming,
  json,
  type Responder,
  scriptServer,
  stream,
} from '../client/script-server.fixture.ts';
import { Transport } from '../client/transport.ts';
import { Informer } from './informer.ts';

const event = (type: string, object: ApiObject) => ({ type, object });
const list = (version: number, ...items: readonly ApiObject[]): Responder =>
  json(200, { kind: 'List', metadata: { resourceVersion: String(version) }, items });
/** As Clusterpass sends a cluster that the caller may no longer see. */
const hidden = (name: string, version: number): ApiObject => {
  const { metadata, ...rest } = cluster(name, version);
  return { ...rest, metadata: { name: metadata.name, resourceVersion: metadata.resourceVersion } };
};

async function inform(responders: readonly Responder[], transform?: (object: ApiObject) => ApiObject) {
  const server = await scriptServer([...responders]);
  onTestFinished(server.close);
  const timing = fakeTiming();
  const transport = new Transport({
    server: server.url,
    tokenProvider: undefined,
    fetch: globalThis.fetch,
    userAgent: undefined,
    onWarning: undefined,
    timing,
  });
  const seen = { changes: 0, problems: [] as string[] };
  const informer = new Informer({
    ...{ transport, timing, path: '/clusters' },
    ...(transform === undefined ? {} : { transform }),
    onChange: () => {
      seen.changes += 1;
    },
    onConnection: (problem) => {
      if (problem !== undefined) seen.problems.push(problem.message);
    },
  });
  const known = (): string[] =>
    [...informer.objects].map(([key, { metadata }]) => `${key}@${metadata.resourceVersion}`).sort();
  /** Follows the script to its last response, which stays open. */
  const follow = async (): Promise<void> => {
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    await expect.poll(() => server.requests.length).toBe(responders.length);
    stop.abort();
    await running;
  };
  const versions = (): (string | undefined)[] => server.requests.map(({ query }) => query.resourceVersion);
  return { informer, known, follow, versions, seen, timing };
}

const OPEN = stream([], { stays: true });

describe('an informer', () => {
  it('keeps the newest version of each object, and resumes at the newest version it was told', async () => {
    const { known, follow, versions, seen } = await inform([
      list(5, cluster('a', 1), cluster('b', 2), cluster('c', 3)),
      stream([
        event('MODIFIED', cluster('a', 6)),
        event('MODIFIED', cluster('a', 4)),
        // Of an object of the same name that was there before this one.
        event('DELETED', cluster('b', 7, 'uid-before')),
        event('DELETED', hidden('c', 8)),
        bookmark(20),
        // It became visible by a permission, and has its own version.
        event('ADDED', cluster('d', 4)),
      ]),
      OPEN,
    ]);
    await follow();
    expect(known()).toEqual(['a@6', 'b@2', 'd@4']);
    expect(versions()).toEqual([undefined, '5', '20']);
    // The list, five events and the first connection; a bookmark changes nothing. The second one may not be open yet.
    expect([7, 8]).toContain(seen.changes);
    expect(seen.problems).toEqual([]);
  });

  it('lists again when its version is too old, and forgets what is gone', async () => {
    const expired = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } };
    const { known, follow, versions, seen } = await inform([
      list(5, cluster('a', 1), cluster('b', 2)),
      stream([expired]),
      list(9, cluster('b', 8)),
      OPEN,
    ]);
    await follow();
    expect([known(), versions()]).toEqual([['b@8'], [undefined, '5', undefined, '9']]);
    expect(seen.problems).toEqual([]);
  });

  it('reports another error of a watch, waits, and resumes', async () => {
    const failed = { type: 'ERROR', object: { kind: 'Status', code: 500, message: 'no leader' } };
    const { known, follow, versions, seen, timing } = await inform([
      list(5, cluster('a', 1)),
      stream([failed]),
      stream([event('MODIFIED', cluster('a', 6))]),
      OPEN,
    ]);
    await follow();
    expect([known(), versions()]).toEqual([['a@6'], [undefined, '5', '5', '6']]);
    expect(seen.problems).toEqual([expect.stringContaining('no leader')]);
    expect(timing.delays).toHaveLength(2);
    expect(timing.delays.every((ms) => ms > 0)).toBe(true);
  });

  it('takes the answer to a write, unless an event was faster', async () => {
    const marked = ({ metadata, ...rest }: ApiObject): ApiObject => ({
      ...rest,
      metadata: { ...metadata, labels: { kept: 'yes' } },
    });
    const { informer, known } = await inform([list(5, cluster('a', 5))], marked);
    await informer.list();
    informer.put(cluster('a', 4));
    expect(known()).toEqual(['a@5']);
    informer.put(cluster('a', 10));
    expect(known()).toEqual(['a@10']);
    // Another object: versions of a hub that was restored from a backup are lower.
    informer.put(cluster('a', 7, 'uid-after'));
    expect(known()).toEqual(['a@7']);
    expect(informer.objects.get('a')?.metadata.labels).toEqual({ kept: 'yes' });
  });
});

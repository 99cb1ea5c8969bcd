import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addCluster,
  grantClusters,
  listAs,
  PUBLIC_LIST,
  rebind,
  relabel,
  removeCluster,
  revisionNow,
  touch,
} from './support/fleet.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';
import { brief, Watch, type WatchEvent } from './support/watch.ts';

describe('V-10: a version that is too old', () => {
  let server: Server;
  const HISTORY = 20;

  beforeAll(async () => {
    server = await startServer({ args: ['--history-revisions', String(HISTORY)] });
    await addCluster(server, 'a');
  });
  afterAll(() => server.destroy());

  it('is 200, one ERROR, and the end', async () => {
    const old = await revisionNow(server);
    const versions: number[] = [];
    for (let count = 0; count < 2 * HISTORY; count++) versions.push(await touch(server, 'a', `change ${count}`));
    const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${old}`);
    expect(watch.code).toBe(200);
    const events = await watch.rest();
    const oldest = Number(/\((\d+)\)$/.exec(events[0]?.object.message)?.[1]);
    expect(events).toEqual([
      {
        type: 'ERROR',
        object: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: `too old resource version: ${old} (${oldest})`,
          reason: 'Expired',
          code: 410,
        },
      },
    ]);
    // The version in the message is the oldest that can be resumed from, and from there nothing is missing.
    const resumed = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${oldest}`);
    const expected = versions.filter((version) => version > oldest);
    expect(expected.length).toBeGreaterThanOrEqual(HISTORY);
    const got = await resumed.take(expected.length);
    expect(got.map(({ object }) => Number(object.metadata.resourceVersion))).toEqual(expected);
    resumed.close();
    const justBefore = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${oldest - 1}`);
    expect((await justBefore.rest()).map(brief)).toEqual(['ERROR 410']);
  });

  it('B3: a watch is resumed across a restart, without gap or repetition', async () => {
    const start = await revisionNow(server);
    const versions = [await touch(server, 'a', 'before'), await touch(server, 'a', 'before too')];
    expect(await server.stop()).toBe(0);
    server = await server.restart();
    versions.push(await touch(server, 'a', 'after'));
    const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${start}`);
    const events = await watch.take(3);
    expect(events.map(({ object }) => Number(object.metadata.resourceVersion))).toEqual(versions);
    watch.close();
  });

  it('B16: when the server stops, watches end cleanly, with a bookmark on request', async () => {
    const now = await revisionNow(server);
    const [plain, marked] = await Promise.all(
      ['', '&allowWatchBookmarks=true'].map((query) =>
        Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${now}${query}`),
      ),
    );
    const stopped = server.stop();
    expect(await plain?.rest()).toEqual([]);
    expect((await marked?.rest())?.map(({ type, object }) => `${type} ${object.metadata.resourceVersion}`)).toEqual([
      `BOOKMARK ${now}`,
    ]);
    expect(await stopped).toBe(0);
  });
});

/** Numbers that look random and are the same in every run (mulberry32). */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type State = Map<string, string>;

/** The state of a client after this event. */
function learn(state: State, { type, object }: WatchEvent): void {
  const { name, resourceVersion } = object.metadata;
  if (type === 'ADDED' || type === 'MODIFIED') state.set(name, resourceVersion);
  else if (type === 'DELETED') state.delete(name);
}

const sorted = (state: State): [string, string][] => [...state].sort(([a], [b]) => (a < b ? -1 : 1));

describe('A17: a client that resumes at any event has exactly the visible clusters in the end', () => {
  let server: Server;

  beforeAllWithServer((shared) => {
    server = shared;
  });

  it.each([1, 2, 3])('after random changes of clusters and permissions (seed %i)', async (seed) => {
    const random = randomNumbers(seed);
    const stem = `s${seed}`;
    const ENVS = ['dev', 'prod', 'test'];
    const pick = (): string => ENVS[random(3)] ?? '';
    const alive: string[] = [];
    await grantClusters(server, stem, 'vera', { clusters: `env=${pick()}` });
    const first = await Watch.open(server, `${PUBLIC_LIST}?watch=true`, tokenOf('vera'));

    let made = 0;
    const step = async (): Promise<void> => {
      const target = alive[random(alive.length || 1)];
      const action = random(10);
      if (target === undefined || action < 3) {
        const name = `${stem}-${made++}`;
        await addCluster(server, name, { labels: { env: pick() } });
        alive.push(name);
      } else if (action < 5) await touch(server, target, `note ${random(1000)}`);
      else if (action < 8) await relabel(server, target, { env: pick() });
      else {
        await removeCluster(server, target);
        alive.splice(alive.indexOf(target), 1);
      }
    };
    for (let count = 0; count < 40; count++) {
      await step();
      // Few enough changes of rules that every resumption gets all of them.
      if (count % 6 === 5) await rebind(server, stem, random(3) === 0 ? null : `env=${pick()}`);
    }
    await addCluster(server, `${stem}-end`, { labels: { env: 'end' } });
    await rebind(server, stem, 'env in (end,dev)');
    const isEnd = ({ type, object }: WatchEvent): boolean => type === 'ADDED' && object.metadata.name === `${stem}-end`;

    const expected = new Map<string, string>(
      (await listAs(server, 'vera')).json.items.map((item: { metadata: { name: string; resourceVersion: string } }) => [
        item.metadata.name,
        item.metadata.resourceVersion,
      ]),
    );
    const seen = await first.until(isEnd);
    first.close();
    // Every watch sees this change last. Events of a change of permissions are not in the order of versions.
    const end = String(await touch(server, `${stem}-end`, 'end'));
    expected.set(`${stem}-end`, end);
    const untilEnd = ({ object }: WatchEvent): boolean => object.metadata.resourceVersion === end;

    const known: State = new Map();
    let resumed = 0;
    for (const event of seen) {
      learn(known, event);
      // A plain client comes back with the version of the last thing it saw, which may be older than others it saw.
      const state = new Map(known);
      const path = `${PUBLIC_LIST}?watch=true&resourceVersion=${event.object.metadata.resourceVersion}`;
      const watch = await Watch.open(server, path, tokenOf('vera'));
      const events = await watch.until((one) => one.type === 'ERROR' || untilEnd(one));
      watch.close();
      expect(events.at(-1)?.type).not.toBe('ERROR');
      for (const one of events) learn(state, one);
      expect(sorted(state)).toEqual(sorted(expected));
      resumed++;
    }
    expect(resumed).toBeGreaterThan(10);
    for (const name of [...alive, `${stem}-end`]) await removeCluster(server, name);
  });
});

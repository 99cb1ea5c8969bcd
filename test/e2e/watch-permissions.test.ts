import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CLUSTER_TYPE } from '../../src/api/cluster.fixture.ts';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import {
  addCluster,
  grantClusters,
  listAs,
  namesIn,
  PUBLIC_LIST,
  rebind,
  removeCluster,
  revisionNow,
  touch,
  unbind,
} from './support/fleet.ts';
import { CLUSTERS } from './support/paths.ts';
import { tokenOf } from './support/server.ts';
import { MANY, sharedServer } from './support/shared-server.ts';
import { brief, Watch, type WatchEvent } from './support/watch.ts';

const server = sharedServer();
let count = 0;
let marks = 0;
/** Each test has a separate caller, who starts without permissions. */
let user: string;

beforeAll(async () => {
  await addCluster(server, 'dev-1', { labels: { env: 'dev' } });
  await addCluster(server, 'dev-2', { labels: { env: 'dev' } });
  await addCluster(server, 'prod-1', { labels: { env: 'prod' } });
  await addCluster(server, 'prod-2', { labels: { env: 'prod' }, annotations: { note: 'canary-of-prod' } });
});
beforeEach(() => {
  user = MANY[count++] ?? '';
});

/** Open, and past its initial events. */
async function openWatch(query = ''): Promise<Watch> {
  const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true&allowWatchBookmarks=true${query}`, tokenOf(user));
  await watch.until(({ type }) => type === 'BOOKMARK');
  return watch;
}

/** The next events. A periodic bookmark may come between. */
async function next(watch: Watch, count: number): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  while (events.length < count) {
    const [event] = await watch.take(1);
    if (event === undefined) break;
    if (event.type !== 'BOOKMARK') events.push(event);
  }
  return events;
}

/** All events before this change of a cluster that the caller sees. */
async function untilTouched(watch: Watch, name: string): Promise<string[]> {
  const version = String(await touch(server, name, `mark ${++marks}`));
  const events = await watch.until(({ object }) => object.metadata.resourceVersion === version);
  return events
    .slice(0, -1)
    .filter(({ type }) => type !== 'BOOKMARK')
    .map(brief);
}

describe('A18, decision 13: an open watch follows permission', () => {
  it('a binding is added, and removed', async () => {
    const watch = await openWatch();
    await grantClusters(server, user, user, { clusters: 'env=dev' });
    const added = await next(watch, 2);
    expect((await watch.take(1)).map(brief)).toEqual(['BOOKMARK']);
    const { items } = (await listAs(server, user)).json;
    expect(added.map(({ object }) => object)).toEqual(items);

    await unbind(server, user);
    const gone = await next(watch, 2);
    // A version from before the change: a client that resumes with it lists again.
    const version = gone[0]?.object.metadata.resourceVersion ?? '';
    const taken = (name: string) => ({
      type: 'DELETED',
      object: { ...CLUSTER_TYPE, metadata: { name, resourceVersion: version } },
    });
    expect(gone).toEqual([taken('dev-1'), taken('dev-2')]);
    expect((await watch.take(1))[0]?.object.metadata).toEqual({ resourceVersion: String(Number(version) + 1) });
    watch.close();
  });

  it('a cluster is deleted, and another gets its name: a grant that is bound to the first does not show it', async () => {
    await grantClusters(server, user, user, { clusters: 'env=dev' });
    await addCluster(server, 'passing', { labels: { env: 'test' } });
    const { uid } = (await server.call('GET', `${CLUSTERS}/passing`)).json.metadata;
    const fields = { clusters: { names: ['passing'], uid } };
    const bound = await server.call('POST', FLEET_BINDINGS, {
      body: fleetBinding({ name: `${user}-bound`, to: [user], role: user, fields }),
    });
    expect(bound.code, bound.text).toBe(201);
    const { json } = await listAs(server, user);
    expect(json.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toContain('passing');
    const watch = await openWatch();
    await removeCluster(server, 'passing');
    await addCluster(server, 'passing', { labels: { env: 'test' }, annotations: { note: 'canary of the second' } });
    // Its deletion is announced first.
    expect(await untilTouched(watch, 'dev-1')).toEqual(['MODIFIED passing', 'DELETED passing']);
    await touch(server, 'passing', 'another canary');
    expect(await untilTouched(watch, 'dev-1')).toEqual([]);
    watch.close();
    // A watch that resumes from before lists again.
    const query = `?watch=true&resourceVersion=${json.metadata.resourceVersion}`;
    const resumed = await Watch.open(server, `${PUBLIC_LIST}${query}`, tokenOf(user));
    expect((await resumed.rest()).map(brief)).toEqual(['ERROR 410']);
    expect(namesIn(await listAs(server, user))).not.toContain('passing');
    const path = `${CLUSTERS}/passing`;
    expect((await server.call('GET', path, { token: tokenOf(user) })).code).toBe(403);
    await unbind(server, `${user}-bound`).catch(() => undefined);
    await removeCluster(server, 'passing');
  });

  it('more events than a slow client may be behind are sent', async () => {
    // By number and by bytes: 1,000 and 1 MiB; see src/handlers/watch/send-buffer.ts.
    const names = Array.from({ length: 1_100 }, (_, index) => `many-${String(index).padStart(4, '0')}`);
    const note = 'x'.repeat(1_000);
    for (let start = 0; start < names.length; start += 100) {
      const some = names.slice(start, start + 100);
      await Promise.all(some.map((name) => addCluster(server, name, { labels: { many: '' }, annotations: { note } })));
    }
    const watch = await openWatch();
    await grantClusters(server, user, user, { clusters: 'many' });
    expect((await next(watch, names.length)).map(brief)).toEqual(names.map((name) => `ADDED ${name}`));
    await unbind(server, user);
    expect((await next(watch, names.length)).map(brief)).toEqual(names.map((name) => `DELETED ${name}`));
    watch.close();
  });
});

describe('decision 13: a watch that resumes across a change', () => {
  const resume = async (version: number | string): Promise<Watch> =>
    Watch.open(server, `${PUBLIC_LIST}?watch=true&allowWatchBookmarks=true&resourceVersion=${version}`, tokenOf(user));

  it('V-10: of its rules has to list again, and one whose rules did not change resumes', async () => {
    await grantClusters(server, user, user, { clusters: 'env=dev' });
    const start = await revisionNow(server);
    await touch(server, 'prod-2', 'for the administrator');
    await rebind(server, user, 'env=prod');
    await touch(server, 'dev-1', 'for all');
    const events = await (await resume(start)).rest();
    expect(events).toEqual([
      {
        type: 'ERROR',
        object: expect.objectContaining({
          code: 410,
          reason: 'Expired',
          message: `too old resource version: ${start}: permissions have changed`,
        }),
      },
    ]);
    const other = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${start}`);
    expect((await other.take(2)).map(brief)).toEqual(['MODIFIED prod-2', 'MODIFIED dev-1']);
    other.close();
    const again = await resume(await revisionNow(server));
    expect(await untilTouched(again, 'prod-1')).toEqual([]);
    again.close();
    expect(namesIn(await listAs(server, user))).toEqual(['prod-1', 'prod-2']);
  });
});

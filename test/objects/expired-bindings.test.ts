import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { ApiObject, Kind } from '../../src/api/kind.ts';
import { fleetBinding, person, role } from '../../src/authz/policy/rbac.fixture.ts';
import { openTestStore } from '../../src/storage/sqlite/test-store.fixture.ts';
import { type ApiCore, openApiCore, ROOT } from '../property/support/api-core.ts';
import { clusterObject } from '../property/support/history.ts';
import { MemorySink } from '../property/support/memory-sink.ts';

/** A watch after the time of a binding is over, and before the binding is deleted. */

const END = Date.parse('2026-11-16T18:00:00Z');
const ROLE = role('reader', [{ verbs: ['list', 'watch'], apiGroups: ['*'], resources: ['clusters', 'clusterroles'] }]);
const BINDING = fleetBinding('temporary', 'ClusterRole/reader', ['User:jane'], { expiresAt: '2026-11-16T18:00:00Z' });

interface World {
  readonly core: ApiCore;
  /** The revision at which jane sees the cluster `a`. */
  readonly seen: number;
  expire(): void;
  /** The clock was ahead, and is right again. */
  holdAgain(): void;
  create(name: string): Promise<number>;
  deleteBinding(): Promise<void>;
  /** The events of a watch by jane: all that come before the caches have nothing more to send. */
  watch(after: number | 'initial', stalled?: boolean, kind?: Kind): Promise<Watching>;
}

interface Watching {
  readonly sink: MemorySink;
  events(): Promise<string[]>;
}

async function openWorld(): Promise<World> {
  const store = await openTestStore();
  let now = END - 1;
  const core = await openApiCore(store, 1_000, () => now);
  onTestFinished(() => core.close());
  const { catalog, reader, broadcaster } = core;
  const write = async (kind: (typeof catalog.kinds)[number], body: ApiObject): Promise<number> => {
    await core.request({ caller: ROOT, verb: 'create', kind, body });
    await reader.catchUp();
    return reader.revision;
  };
  await write(catalog.clusterRoles, ROLE);
  await write(catalog.fleetRoleBindings, BINDING);
  const create = (name: string) => write(catalog.clusters, clusterObject(name, {}, ''));
  const seen = await create('a');
  return {
    core,
    seen,
    create,
    expire: () => {
      now = END;
    },
    holdAgain: () => {
      now = END - 1;
    },
    deleteBinding: async () => {
      await core.request({ caller: ROOT, verb: 'delete', kind: catalog.fleetRoleBindings, name: 'temporary' });
      await reader.catchUp();
    },
    watch: async (after, stalled = false, kind = catalog.clusters) => {
      const query = after === 'initial' ? {} : { resourceVersion: String(after) };
      const response = await core.request({
        caller: person('jane'),
        verb: 'watch',
        kind,
        query: { watch: 'true', allowWatchBookmarks: 'true', ...query },
      });
      if (response.type !== 'watch') throw new Error(`unexpected response: ${response.type}`);
      const sink = new MemorySink(
        () => ({ broadcast: 0, newest: 0 }),
        () => {},
      );
      sink.stalled = stalled;
      response.start(sink);
      return {
        sink,
        events: async () => {
          while (broadcaster.writes.size > 0) await nextTick();
          return sink.frames.map(({ type, object }) => {
            if (type === 'ERROR') return `ERROR ${object.code}`;
            return `${type} ${object.metadata.name ?? ''} ${object.metadata.resourceVersion}`;
          });
        },
      };
    },
  };
}

const isNoBookmark = (event: string): boolean => !event.startsWith('BOOKMARK');

it('a client that comes back after the end lists again, until the binding is deleted', async () => {
  const { core, seen, expire, create, deleteBinding, watch } = await openWorld();
  expect(await (await watch(seen)).events()).toEqual([]);
  expire();
  const list = { caller: person('jane'), verb: 'list', kind: core.catalog.clusters } as const;
  expect(await core.request(list)).toMatchObject({ type: 'list', items: [] });
  for (const kind of [core.catalog.clusters, core.catalog.clusterRoles]) {
    const resumed = await (await watch(seen, false, kind)).events();
    expect(resumed).toEqual([kind === core.catalog.clusters ? 'ERROR 410' : 'ERROR 403']);
  }
  expect((await (await watch('initial')).events()).filter(isNoBookmark)).toEqual([]);
  const later = await create('b');
  expect(await (await watch(later)).events()).toEqual(['ERROR 410']);
  await deleteBinding();
  expect(await (await watch(later)).events()).toEqual(['ERROR 410']);
  expect(await (await watch(core.reader.revision)).events()).toEqual([]);
});

it('with the deletion of the binding an open watch gets DELETED, and one that has not caught up lists again', async () => {
  const { seen, expire, deleteBinding, watch } = await openWorld();
  const open = await watch(seen);
  const slow = await watch('initial', true);
  expire();
  await deleteBinding();
  expect(await open.events()).toEqual([`DELETED a ${seen}`, `BOOKMARK  ${seen + 1}`]);
  slow.sink.drain();
  expect((await slow.events()).filter(isNoBookmark)).toEqual([`ADDED a ${seen}`, 'ERROR 410']);
});

it('of what happens after the end, a slow client is shown no content before it has to list again', async () => {
  const { seen, expire, create, watch } = await openWorld();
  const slow = await watch('initial', true);
  expire();
  await create('b');
  slow.sink.drain();
  const shown = (await slow.events()).filter(isNoBookmark);
  expect(shown).toEqual([`ADDED a ${seen}`, 'ERROR 410']);
});

it('B13: a watch that begins after a clock that was ahead is right again resumes', async () => {
  const { seen, expire, holdAgain, create, watch } = await openWorld();
  expire();
  expect(await (await watch(seen)).events()).toEqual(['ERROR 410']);
  holdAgain();
  const resumed = await watch(seen);
  const later = await create('b');
  expect((await resumed.events()).filter(isNoBookmark)).toEqual([`ADDED b ${later}`]);
});

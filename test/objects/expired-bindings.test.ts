import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ApiObject, Kind } from '../../src/api/kind.ts';
import { EXPIRES_ANNOTATION } from '../../src/api/kinds/rbac.ts';
import { binding, person, role } from '../../src/authz/policy/rbac.fixture.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { type ApiCore, openApiCore, ROOT } from '../property/support/api-core.ts';
import { clusterObject } from '../property/support/history.ts';
import { MemorySink } from '../property/support/memory-sink.ts';
import { inFolder } from './object-store.ts';

/** A watch after the time of a binding is over, and before the binding is deleted. */

const END = Date.parse('2026-11-16T18:00:00Z');
const ROLE = role('reader', [{ verbs: ['list', 'watch'], apiGroups: ['*'], resources: ['clusters', 'clusterroles'] }]);
const granted = binding('temporary', 'ClusterRole/reader', ['User:jane']);
const BINDING = {
  ...granted,
  metadata: { ...granted.metadata, annotations: { [EXPIRES_ANNOTATION]: '2026-11-16T18:00:00Z' } },
};

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

async function inWorld(test: (world: World) => Promise<void>): Promise<void> {
  await inFolder(async (file) => {
    const store = await openSqliteStore({ file });
    let now = END - 1;
    const core = await openApiCore(store, 1_000, () => now);
    const { catalog, reader, broadcaster } = core;
    const write = async (kind: (typeof catalog.kinds)[number], body: ApiObject): Promise<number> => {
      await core.request({ caller: ROOT, verb: 'create', kind, body });
      await reader.catchUp();
      return reader.revision;
    };
    await write(catalog.clusterRoles, ROLE);
    await write(catalog.clusterRoleBindings, BINDING);
    const create = (name: string) => write(catalog.clusters, clusterObject(name, {}, ''));
    const seen = await create('a');
    try {
      await test({
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
          await core.request({ caller: ROOT, verb: 'delete', kind: catalog.clusterRoleBindings, name: 'temporary' });
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
              while (broadcaster.scheduled > 0) await nextTick();
              return sink.frames.map(({ type, object }) => {
                if (type === 'ERROR') return `ERROR ${object.code}`;
                return `${type} ${object.metadata.name ?? ''} ${object.metadata.resourceVersion}`;
              });
            },
          };
        },
      });
    } finally {
      await core.close();
      await store.close();
    }
  });
}

it('a watch that resumes gets DELETED for what it has lost, as often as it resumes', async () => {
  await inWorld(async ({ seen, expire, watch }) => {
    expect(await (await watch(seen)).events()).toEqual([]);
    expire();
    // The versions lead a client that resumes to the same events, not beyond them.
    const lost = [`DELETED a ${seen}`, `BOOKMARK  ${seen}`];
    for (let i = 0; i < 2; i++) expect(await (await watch(seen)).events()).toEqual(lost);
  });
});

it('what happens after the end is not shown, also when the binding has been deleted', async () => {
  await inWorld(async ({ seen, expire, create, deleteBinding, watch }) => {
    expire();
    await watch(seen);
    const later = await create('b');
    const deletedOnly = (events: readonly string[]) => events.filter((event) => !event.startsWith('BOOKMARK'));
    expect(deletedOnly(await (await watch(seen)).events())).toEqual([`DELETED a ${seen}`]);
    expect(deletedOnly(await (await watch(later)).events())).toEqual([]);
    await deleteBinding();
    await create('c');
    expect(deletedOnly(await (await watch(seen)).events())).toEqual([`DELETED a ${seen}`]);
    expect(deletedOnly(await (await watch(later)).events())).toEqual([]);
  });
});

it('a decision that notices the end first changes nothing for watches', async () => {
  await inWorld(async ({ core, seen, expire, create, watch }) => {
    const open = await watch(seen);
    expire();
    const list = { caller: person('jane'), verb: 'list', kind: core.catalog.clusters } as const;
    expect(await core.request(list)).toMatchObject({ type: 'list', items: [] });
    const later = await create('b');
    core.broadcaster.followExpirations();
    // The open watch was sent `b`: it follows when the broadcaster does.
    const events = await open.events();
    expect(events.filter((event) => event.startsWith('DELETED')).toSorted()).toEqual([
      `DELETED a ${later}`,
      `DELETED b ${later}`,
    ]);
    expect((await (await watch(later)).events()).filter((event) => event.startsWith('DELETED')).toSorted()).toEqual([
      `DELETED a ${later}`,
      `DELETED b ${later}`,
    ]);
  });
});

it('a client that reads its initial events slowly gets DELETED after them', async () => {
  await inWorld(async ({ core, seen, expire, watch }) => {
    const slow = await watch('initial', true);
    expire();
    core.broadcaster.followExpirations();
    slow.sink.drain();
    const events = (await slow.events()).filter((event) => !event.startsWith('BOOKMARK'));
    expect(events).toEqual([`ADDED a ${seen}`, `DELETED a ${seen}`]);
  });
});

it('B13: a watch gets ADDED for what it may see again, when it is open and when it resumes', async () => {
  await inWorld(async ({ core, seen, expire, holdAgain, watch }) => {
    const open = await watch(seen);
    expire();
    core.broadcaster.followExpirations();
    expect(await open.events()).toEqual([`DELETED a ${seen}`, `BOOKMARK  ${seen}`]);
    holdAgain();
    core.broadcaster.followExpirations();
    const events = [`DELETED a ${seen}`, `BOOKMARK  ${seen}`, `ADDED a ${seen}`, `BOOKMARK  ${seen}`];
    expect(await open.events()).toEqual(events);
    // A client may come back that got DELETED and not ADDED.
    for (let i = 0; i < 2; i++) {
      const resumed = (await (await watch(seen)).events()).filter((event) => !event.startsWith('BOOKMARK'));
      expect(resumed).toEqual([`DELETED a ${seen}`, `ADDED a ${seen}`]);
    }
  });
});

it('B13: a watch that begins after the clock was right again does not have to list again', async () => {
  await inWorld(async ({ core, seen, expire, holdAgain, create, watch }) => {
    expire();
    core.broadcaster.followExpirations();
    const during = await create('b');
    holdAgain();
    core.broadcaster.followExpirations();
    const roles = core.catalog.clusterRoles;
    // A list of now has this revision, too.
    expect(await (await watch(during, false, roles)).events()).toEqual([]);
    expect(await (await watch(seen, false, roles)).events()).toEqual(['ERROR 410']);
    const after = await create('c');
    expect(await (await watch(after, false, roles)).events()).toEqual([]);
    // No event has happened between the two changes.
    expire();
    core.broadcaster.followExpirations();
    holdAgain();
    core.broadcaster.followExpirations();
    expect(await (await watch(after, false, roles)).events()).toEqual([]);
  });
});

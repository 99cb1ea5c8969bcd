import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REGISTRY_PREFIX } from '../../src/api/kind.ts';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';
import type { Store } from '../../src/storage/contract.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { type ApiCore, openApiCore } from './support/api-core.ts';
import { applyMutation, initialFleet, type Step, step } from './support/history.ts';
import { ListingClient } from './support/listing-client.ts';
import { Model } from './support/model.ts';
import { RARE_HISTORIES } from './support/rare-histories.ts';
import { exact, WatchingClient } from './support/watching-client.ts';

/**
 * Random histories of clusters, roles and bindings, with callers that list and watch at the same time. The handlers
 * over a real store must show each caller what a model without caches and indexes computes.
 */

let dir: string;
let store: Store;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-views-'));
  store = await openSqliteStore({ file: join(dir, 'store.db') });
});

afterAll(() => store.close());

/** One store for all histories, because opening one takes longer than a history. Each history starts with it empty. */
async function clear(): Promise<number> {
  const { items } = await store.list({ prefix: REGISTRY_PREFIX });
  await Promise.all(items.map(({ key, modRevision }) => store.write({ key, value: null, expect: { modRevision } })));
  return store.revision();
}

/** The broadcaster writes to watches in slices, so some are still scheduled when the caches have a change. */
async function allFramesSent({ broadcaster }: ApiCore): Promise<void> {
  while (broadcaster.writes.size > 0) await nextTick();
}

async function play(core: ApiCore, steps: readonly Step[], first: number, ballast: string): Promise<void> {
  const lister = new ListingClient(core);
  const watchers: WatchingClient[] = [];
  for (const each of steps) {
    switch (each.step) {
      case 'mutations': {
        const { concurrentList } = each;
        const listing = concurrentList === undefined ? undefined : lister.listConcurrently(concurrentList);
        await Promise.all([...each.mutations.map((mutation) => applyMutation(core, mutation, ballast)), listing]);
        await core.reader.catchUp();
        break;
      }
      case 'list': {
        let more = await lister.list(each, first);
        for (const mutation of each.between) {
          if (!more) break;
          await applyMutation(core, mutation, ballast);
          await core.reader.catchUp();
          more = await lister.continue('last');
        }
        break;
      }
      case 'continue':
        await lister.continue(each.which);
        break;
      case 'watch': {
        const watcher = new WatchingClient(core, each, each.bookmarks);
        watchers.push(watcher);
        const after = each.back === 'initial' ? 0 : first + (each.back % (core.reader.revision - first + 1));
        await watcher.open(each.back === 'initial' ? 'initial' : { after }, each.stalled);
        break;
      }
      default: {
        const watcher = watchers[each.which % Math.max(watchers.length, 1)];
        if (each.step === 'stall') watcher?.stall();
        else if (each.step === 'drain') watcher?.drain();
        else if (each.step === 'disconnect') watcher?.disconnect();
        else await watcher?.reconnect();
      }
    }
    await allFramesSent(core);
  }
  for (const watcher of watchers) {
    watcher.drain();
    // A watch that is too far behind gets its error in a later tick.
    await allFramesSent(core);
    await watcher.reconnect();
  }
  await allFramesSent(core);
  const model = await Model.read(store, core.catalog, first);
  lister.verify(model);
  for (const watcher of watchers) watcher.verify(model);
  for (const watcher of watchers) watcher.disconnect();
  expect(core.errors).toEqual([]);
  expect(core.broadcaster.size).toBe(0);
}

/** Plays a history with an empty store. */
async function playFromEmpty(steps: readonly Step[], windowSize: number, ballast: number): Promise<void> {
  const first = await clear();
  const core = await openApiCore(store, windowSize);
  try {
    await play(core, steps, first, 'x'.repeat(ballast));
  } finally {
    await core.close();
  }
}

/** fast-check needs most of the time to shrink a failing history. */
const LIMITS = { testMs: 240_000, searchMs: 200_000 };

describe('A17, B3, B4, B5, L-33: what each caller is shown', () => {
  it.each([
    { name: 'with the whole history in the window', windowSize: 1_000, ballast: 0, runs: propertyRuns(12, 250) },
    { name: 'with a window too short for some requests', windowSize: 6, ballast: 0, runs: propertyRuns(10, 200) },
    // One object fills two writes, so slow clients have received a part of their events, or of one.
    {
      name: 'with objects that slow clients read one by one',
      windowSize: 1_000,
      ballast: 150_000,
      runs: propertyRuns(3, 60),
    },
  ])(
    'is what the objects and the rules say, $name',
    async ({ windowSize, ballast, runs }) => {
      await fc.assert(
        fc.asyncProperty(initialFleet, fc.array(step, { minLength: 5, maxLength: 40 }), async (mutations, steps) =>
          playFromEmpty([{ step: 'mutations', mutations, concurrentList: undefined }, ...steps], windowSize, ballast),
        ),
        { ...runs, interruptAfterTimeLimit: LIMITS.searchMs },
      );
    },
    LIMITS.testMs,
  );

  it.each(RARE_HISTORIES)('is what the objects and the rules say, when $name', async ({ steps, ballast = 0 }) => {
    await playFromEmpty(steps, 1_000, ballast);
  });

  // How many events random histories compare is luck. A fixed history shows that the comparison takes place; how many
  // events it compares depends on how its batches arrive.
  it('is compared event by event', async () => {
    const history = RARE_HISTORIES.find(
      ({ name }) => name === 'a cluster moves in and out of reach in one batch with the rules',
    );
    exact.count = 0;
    await playFromEmpty(history?.steps ?? [], 1_000, 0);
    expect(exact.count).toBeGreaterThan(0);
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REGISTRY_PREFIX } from '../../src/api/object-key.ts';
import type { Store } from '../../src/storage/contract.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { perform, type Scene, scene, setting } from './support/history.ts';
import { type House, openHouse } from './support/house.ts';
import { Lister } from './support/lister.ts';
import { Model } from './support/model.ts';
import { exact, Onlooker } from './support/onlooker.ts';
import { RARE } from './support/rare.ts';

/**
 * Random histories of clusters, roles and bindings, with callers who list and watch while they happen. The
 * real parts over a real store must show each caller what a plain look at every object and every rule shows.
 */

let dir: string;
let store: Store;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-views-'));
  store = await openSqliteStore({ file: join(dir, 'store.db') });
});

afterAll(async () => {
  await store.close();
  await rm(dir, { recursive: true });
});

/** One store for all histories, because opening one takes longer than a history; each begins with nothing in it. */
async function clear(): Promise<number> {
  const { items } = await store.list({ prefix: REGISTRY_PREFIX });
  await Promise.all(items.map(({ key, modRevision }) => store.write({ key, value: null, expect: { modRevision } })));
  return store.revision();
}

/** Watchers are written to in rounds, of which some are still to come when a change is in the caches. */
async function everybodyServed({ broadcaster }: House): Promise<void> {
  while (broadcaster.scheduled > 0) await nextTurn();
}

async function play(house: House, scenes: readonly Scene[], first: number, ballast: string): Promise<void> {
  const lister = new Lister(house);
  const onlookers: Onlooker[] = [];
  for (const each of scenes) {
    switch (each.scene) {
      case 'deeds': {
        const { meanwhile } = each;
        const listing = meanwhile === undefined ? undefined : lister.listMeanwhile(meanwhile);
        await Promise.all([...each.deeds.map((deed) => perform(house, deed, ballast)), listing]);
        await house.reader.catchUp();
        break;
      }
      case 'list': {
        let more = await lister.list(each, first);
        for (const deed of each.between) {
          if (!more) break;
          await perform(house, deed, ballast);
          await house.reader.catchUp();
          more = await lister.continue('last');
        }
        break;
      }
      case 'continue':
        await lister.continue(each.which);
        break;
      case 'watch': {
        const onlooker = new Onlooker(house, each, each.bookmarks);
        onlookers.push(onlooker);
        const after = each.back === 'initial' ? 0 : first + (each.back % (house.reader.revision - first + 1));
        await onlooker.open(each.back === 'initial' ? 'initial' : { after }, each.stalled);
        break;
      }
      default: {
        const onlooker = onlookers[each.which % Math.max(onlookers.length, 1)];
        if (each.scene === 'stall') onlooker?.stall();
        else if (each.scene === 'drain') onlooker?.drain();
        else if (each.scene === 'leave') onlooker?.leave();
        else await onlooker?.comeBack();
      }
    }
    await everybodyServed(house);
  }
  for (const onlooker of onlookers) {
    onlooker.drain();
    // Whoever was too far behind hears of it in a turn of its own.
    await everybodyServed(house);
    await onlooker.comeBack();
  }
  await everybodyServed(house);
  const model = await Model.read(store, house.catalog, first);
  lister.verify(model);
  for (const onlooker of onlookers) onlooker.verify(model);
  for (const onlooker of onlookers) onlooker.leave();
  expect(house.errors).toEqual([]);
  expect(house.broadcaster.size).toBe(0);
}

/** Plays a history from nothing to its end. */
async function playAlone(scenes: readonly Scene[], windowSize: number, ballast: number): Promise<void> {
  const first = await clear();
  const house = await openHouse(store, windowSize);
  try {
    await play(house, scenes, first, 'x'.repeat(ballast));
  } finally {
    await house.close();
  }
}

/** Finding the shortest history that fails takes longer than finding that one does. */
const LIMITS = { testMs: 240_000, searchMs: 200_000 };

describe('A17, B3: what each caller is shown', () => {
  it.each([
    { name: 'with all of history at hand', windowSize: 1_000, ballast: 0, numRuns: 50 },
    { name: 'with a history too short for some', windowSize: 6, ballast: 0, numRuns: 40 },
    // So large that one fills a write: clients are caught with a part of what they asked for.
    { name: 'with objects that slow clients read one by one', windowSize: 1_000, ballast: 130_000, numRuns: 12 },
  ])(
    'is what the objects and the rules say, $name',
    async ({ windowSize, ballast, numRuns }) => {
      exact.count = 0;
      await fc.assert(
        fc.asyncProperty(setting, fc.array(scene, { minLength: 5, maxLength: 40 }), async (deeds, scenes) =>
          playAlone([{ scene: 'deeds', deeds, meanwhile: undefined }, ...scenes], windowSize, ballast),
        ),
        { numRuns, interruptAfterTimeLimit: LIMITS.searchMs },
      );
      expect(exact.count).toBeGreaterThan(numRuns / 4);
    },
    LIMITS.testMs,
  );

  it.each(RARE)('is what the objects and the rules say, when $name', async ({ scenes, ballast = 0 }) => {
    await playAlone(scenes, 1_000, ballast);
  });
});

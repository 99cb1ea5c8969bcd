import { expect, it } from 'vitest';
import type { StoredObject } from '../../src/objects/stored-object.ts';
import { createObjectSweep, hasPassed } from '../../src/objects/sweep-objects.ts';
import { at, catalog, make, openObjects } from './object-store.ts';

interface World {
  /** The names of the objects that each call has tried, in order. */
  readonly tried: string[];
  readonly logged: object[];
  sweep(): Promise<void>;
}

async function openWorld(names: readonly string[], fail: (name: string) => Error | undefined): Promise<World> {
  const objects = await openObjects();
  for (const name of names) await make(objects, catalog.clusters, at('', '', name));
  await objects.reader.catchUp();
  const tried: string[] = [];
  const logged: object[] = [];
  const sweep = createObjectSweep({
    reader: objects.reader,
    kind: catalog.clusters,
    logger: { warn: (fields: object) => logged.push(fields) },
    removalTime: () => 0,
    stepFor: () => 'step',
    perform: async ({ name }: StoredObject) => {
      tried.push(name);
      const error = fail(name);
      if (error !== undefined) throw error;
    },
  });
  return { tried, logged, sweep };
}

it('objects that always fail do not starve the others, however many they are', async () => {
  const failing = Array.from({ length: 270 }, (_, index) => `a-${index}`);
  const fail = (name: string) => (name === 'z' ? undefined : new Error('invalid'));
  const { tried, logged, sweep } = await openWorld([...failing, 'z'], fail);
  await sweep();
  expect([tried.length, tried.includes('z')]).toEqual([250, false]);
  await sweep();
  expect([tried.length, tried.includes('z')]).toEqual([500, true]);
  for (let round = 0; round < 3; round++) await sweep();
  expect(logged.length, 'once for each object').toBe(270);
});

it.each([
  ['1970-01-01T00:00:01Z', 1_000, true],
  ['1970-01-01T00:00:01Z', 999, false],
  ['damaged', 999, true],
  // No time is trusted.
  ['1970-01-01T00:00:01Z', Number.NEGATIVE_INFINITY, false],
  ['damaged', Number.NEGATIVE_INFINITY, false],
])('%s has passed at %d: %s', (timestamp, time, expected) => {
  expect(hasPassed(timestamp, time)).toBe(expected);
});

import { expect, test } from 'vitest';
import { StorageError, type Store } from './contract.ts';
import { measuredStore } from './measured-store.ts';

test('reports every call, and returns its result or error unchanged', async () => {
  const observed: [string, boolean][] = [];
  const failure = new StorageError('unavailable', 'gone');
  const engine = {
    get: async () => undefined,
    revision: async () => 7,
    write: () => Promise.reject(failure),
  } as unknown as Store;
  const store = measuredStore(engine, (operation, seconds, failed) => {
    expect(seconds).toBeGreaterThanOrEqual(0);
    observed.push([operation, failed]);
  });
  expect(await store.revision()).toBe(7);
  expect(await store.get('/registry/')).toBeUndefined();
  await expect(store.write({ key: '/registry/x', value: null, expect: { absent: true } })).rejects.toBe(failure);
  expect(observed).toEqual([
    ['revision', false],
    ['get', false],
    ['write', true],
  ]);
});

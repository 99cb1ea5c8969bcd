import { describe, expect, it } from 'vitest';
import type { Kind } from '../api/kind.ts';
import type { StorageError, Store } from '../storage/contract.ts';
import { WatchCache } from '../storage/watch-cache.ts';
import { startCacheChecks } from './cache-checks.ts';
import type { StoredObject } from './stored-object.ts';

const APPLES = { group: 'example.com', resource: 'apples' } as Kind;

function start(list: Store['list']) {
  const counts: string[] = [];
  const lines: string[] = [];
  let tick = (): void => {};
  let stopped = false;
  let reloads = 0;
  const cache = new WatchCache<StoredObject>({ prefix: '/registry/apples/', project: () => ({}) as StoredObject });
  const stop = startCacheChecks({
    store: { list },
    reflector: { revision: 5, ready: true, startOver: () => (reloads += 1) },
    pause: () => Promise.resolve(),
    caches: new Map([[APPLES, cache]]),
    count: ({ resource }, status) => counts.push(`${resource} ${status}`),
    every: (_ms, task) => {
      tick = task;
      return () => {
        stopped = true;
      };
    },
    logger: { error: (_, message) => lines.push(message), warn: (_, message) => lines.push(message) },
  });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { counts, lines, stop, tick: () => tick(), settled, isStopped: () => stopped, reloads: () => reloads };
}

describe('B7: the regular check of the caches', () => {
  it('counts by resource, says what is wrong, and has it mended', async () => {
    const answers = [
      async () => ({ items: [], revision: 5, more: false }),
      async () => ({
        items: [{ key: '/registry/apples/a', value: new Uint8Array(), modRevision: 3, createRevision: 3 }],
        revision: 5,
        more: false,
      }),
      async () => Promise.reject(new Error('no answer') as StorageError),
    ];
    const checks = start(() => (answers.shift() ?? answers[0])?.() as ReturnType<Store['list']>);
    for (let i = 0; i < 3; i += 1) {
      checks.tick();
      await checks.settled();
    }
    expect(checks.counts).toEqual(['apples success', 'apples failure', 'apples error']);
    expect(checks.lines).toEqual([
      'the cache is not what the store holds: it is filled anew',
      'the cache could not be compared with the store',
    ]);
    expect(checks.reloads()).toBe(1);
    await checks.stop();
  });

  it('runs one at a time, and is silent once it has been ended', async () => {
    let asked = 0;
    let answer = (): void => {};
    const checks = start(() => {
      asked += 1;
      return new Promise((_, reject) => {
        answer = () => reject(new Error('closed'));
      });
    });
    checks.tick();
    checks.tick();
    expect(asked).toBe(1);
    const ended = checks.stop();
    answer();
    await ended;
    expect([checks.isStopped(), checks.counts, checks.lines]).toEqual([true, [], []]);
  });
});

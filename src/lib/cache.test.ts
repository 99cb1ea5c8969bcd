import { describe, expect, it } from 'vitest';
import { Cache } from './cache.ts';

describe('Cache', () => {
  it('evicts the least recently used entry, one at a time', () => {
    const cache = new Cache<string, number>({ maxEntries: 3 });
    for (const [key, value] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ] as const)
      cache.set(key, value);
    cache.get('a');
    cache.set('d', 4);
    expect([cache.get('a'), cache.get('b'), cache.get('c'), cache.get('d')]).toEqual([1, undefined, 3, 4]);
    expect(cache.size).toBe(3);
  });

  it('drops an entry when its time is over', () => {
    let now = 1_000;
    const cache = new Cache<number, string>({ maxEntries: 2, ttlMs: 10, now: () => now });
    cache.set(1, 'one');
    now += 9;
    expect(cache.get(1)).toBe('one');
    now += 2;
    expect(cache.get(1)).toBeUndefined();
  });

  it('computes once, and does not cache an error', () => {
    const cache = new Cache<string, number>({ maxEntries: 2 });
    let calls = 0;
    const compute = () => {
      calls += 1;
      if (calls === 1) throw new Error('first');
      return calls;
    };
    expect(() => cache.getOrCompute('k', compute)).toThrow('first');
    expect(cache.getOrCompute('k', compute)).toBe(2);
    expect(cache.getOrCompute('k', compute)).toBe(2);
    cache.delete('k');
    expect(cache.getOrCompute('k', compute)).toBe(3);
    cache.clear();
    expect(cache.size).toBe(0);
  });
});

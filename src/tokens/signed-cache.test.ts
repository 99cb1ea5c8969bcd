import { describe, expect, test } from 'vitest';
import { createSignedCache } from './signed-cache.ts';

const open = (maxEntries = 3) => createSignedCache<string>({ maxEntries, maxAgeMs: 10_000, keep: (v) => v !== 'no' });

function counting(value: string) {
  const calls = { count: 0 };
  const compute = async (): Promise<string> => {
    calls.count += 1;
    return value;
  };
  return { calls, compute };
}

describe('remembers', () => {
  test('for as long as it may, and not when the clock goes back', async () => {
    const cache = open();
    const { calls, compute } = counting('yes');
    for (const now of [0, 9_999]) expect(await cache.get('t', now, compute)).toBe('yes');
    expect(calls.count).toBe(1);
    await cache.get('t', 10_000, compute);
    expect(calls.count).toBe(2);
    await cache.get('t', 5_000, compute);
    expect(calls.count).toBe(3);
  });

  test('never what is not to be kept, nor an error', async () => {
    const cache = open();
    const { calls, compute } = counting('no');
    await cache.get('t', 0, compute);
    await cache.get('t', 0, compute);
    expect(calls.count).toBe(2);
    const failing = async (): Promise<string> => {
      calls.count += 1;
      throw new Error('bad');
    };
    await expect(cache.get('t', 0, failing)).rejects.toThrow('bad');
    await expect(cache.get('t', 0, failing)).rejects.toThrow('bad');
    expect(calls.count).toBe(4);
  });

  test('only so many, and forgets what was unused for longest', async () => {
    const cache = open(3);
    const { calls, compute } = counting('yes');
    for (const token of ['a', 'b', 'c', 'a', 'd']) await cache.get(token, 0, compute);
    expect(calls.count).toBe(4);
    await cache.get('a', 0, compute);
    await cache.get('c', 0, compute);
    expect(calls.count).toBe(4);
    await cache.get('b', 0, compute);
    expect(calls.count).toBe(5);
  });

  test('who comes when all others are used is remembered like them', async () => {
    const cache = open(3);
    const { calls, compute } = counting('yes');
    for (const token of ['a', 'b', 'c', 'a', 'b', 'c', 'd']) await cache.get(token, 0, compute);
    expect(calls.count).toBe(4);
    for (const token of ['d', 'c', 'b']) await cache.get(token, 0, compute);
    expect(calls.count).toBe(4);
    await cache.get('a', 0, compute);
    expect(calls.count).toBe(5);
  });
});

test('one computation for all who ask at the same time, also when it fails', async () => {
  const cache = open();
  const { calls, compute } = counting('yes');
  await Promise.all([cache.get('t', 0, compute), cache.get('t', 0, compute)]);
  expect(calls.count).toBe(1);
  const failing = async (): Promise<string> => {
    calls.count += 1;
    throw new Error('bad');
  };
  const outcomes = await Promise.allSettled([cache.get('u', 0, failing), cache.get('u', 0, failing)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(calls.count).toBe(2);
});

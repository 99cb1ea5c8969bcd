import { describe, expect, it } from 'vitest';
import { createCachedResolve } from './cached-resolve.ts';

function open() {
  const state = { asked: 0, time: 0, fails: false };
  const resolve = async (): Promise<string[]> => {
    state.asked++;
    if (state.fails) throw new Error('no such name');
    return [`10.0.0.${state.asked}`];
  };
  return Object.assign(state, { cache: createCachedResolve(resolve, 1_000, () => state.time) });
}

describe('names that were looked up', () => {
  it('are looked up again when their time is over, not before', async () => {
    const world = open();
    expect(await world.cache.resolve('a')).toEqual(['10.0.0.1']);
    world.time = 999;
    expect(await world.cache.resolve('a')).toEqual(['10.0.0.1']);
    world.time = 1_000;
    expect(await world.cache.resolve('a')).toEqual(['10.0.0.2']);
  });

  it('are looked up again at once when they were of no use', async () => {
    const world = open();
    await world.cache.resolve('a');
    world.cache.forget('a');
    expect(await world.cache.resolve('a')).toEqual(['10.0.0.2']);
  });

  it('are not remembered when there was no answer', async () => {
    const world = open();
    world.fails = true;
    await expect(world.cache.resolve('a')).rejects.toThrow('no such name');
    world.fails = false;
    expect(await world.cache.resolve('a')).toEqual(['10.0.0.2']);
  });
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadlines, type Timed } from './deadlines.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Named extends Timed<Named> {
  readonly name: string;
}

function start() {
  const expired: string[] = [];
  const row = new Deadlines<Named>({ afterMs: 100, now: () => Date.now(), expire: ({ name }) => expired.push(name) });
  const items = new Map<string, Named>();
  const named = (name: string): Named => {
    const item = items.get(name) ?? { name };
    items.set(name, item);
    return item;
  };
  const deadlines = {
    start: (name: string) => row.start(named(name)),
    stop: (name: string) => row.stop(named(name)),
  };
  return { expired, deadlines, named };
}

test('each runs out at its own time, with one timer for all', () => {
  const { expired, deadlines } = start();
  deadlines.start('a');
  vi.advanceTimersByTime(60);
  deadlines.start('b');
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(39);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(expired).toEqual(['a']);
  vi.advanceTimersByTime(59);
  expect(expired).toEqual(['a']);
  vi.advanceTimersByTime(1);
  expect(expired).toEqual(['a', 'b']);
  expect(vi.getTimerCount()).toBe(0);
});

test('in whatever order they are stopped, the others run out in the order in which they came', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  for (const first of names) {
    for (const second of names) {
      const { expired, deadlines } = start();
      for (const name of names) deadlines.start(name);
      deadlines.stop(first);
      deadlines.stop(second);
      deadlines.stop(first);
      deadlines.start('f');
      vi.advanceTimersByTime(100);
      expect(expired).toEqual([...names.filter((name) => name !== first && name !== second), 'f']);
    }
  }
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadlines } from './deadlines.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start() {
  const expired: string[] = [];
  const deadlines = new Deadlines<string>({
    afterMs: 100,
    now: () => Date.now(),
    expire: (item) => expired.push(item),
  });
  return { expired, deadlines };
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

test('what was stopped does not run out, and the next one still does', () => {
  const { expired, deadlines } = start();
  deadlines.start('a');
  vi.advanceTimersByTime(10);
  deadlines.start('b');
  deadlines.stop('a');
  deadlines.stop('unknown');
  vi.advanceTimersByTime(99);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(expired).toEqual(['b']);
});

test('it starts again after it was empty', () => {
  const { expired, deadlines } = start();
  deadlines.start('a');
  deadlines.stop('a');
  vi.advanceTimersByTime(100);
  expect(vi.getTimerCount()).toBe(0);
  deadlines.start('b');
  vi.advanceTimersByTime(100);
  expect(expired).toEqual(['b']);
});

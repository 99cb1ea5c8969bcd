import { expect, it } from 'vitest';
import { InFlightCounts } from './in-flight-counts.ts';

it('counts what has not been released, by key', () => {
  const counts = new InFlightCounts();
  const release = counts.add('a');
  counts.add('a');
  counts.add('b');
  expect([counts.of('a'), counts.of('b'), counts.of('c')]).toEqual([2, 1, 0]);
  release();
  expect([counts.of('a'), counts.of('b')]).toEqual([1, 1]);
});

it('a release that is repeated does not release another one', () => {
  const counts = new InFlightCounts();
  const release = counts.add('a');
  counts.add('a');
  release();
  release();
  expect(counts.of('a')).toBe(1);
});

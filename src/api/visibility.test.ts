import { expect, it } from 'vitest';
import { justAfter, revisionBefore, revisionOf } from './visibility.ts';

it('a change just after a revision is between it and the next one, in the state of the first', () => {
  const moments = [6, justAfter(6), 7];
  expect(moments.toSorted((a, b) => a - b)).toEqual(moments);
  expect(moments.map(revisionOf)).toEqual([6, 6, 7]);
  expect(moments.map(revisionBefore)).toEqual([5, 6, 6]);
});

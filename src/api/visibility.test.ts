import { expect, it } from 'vitest';
import { atRevision, compareMoments, justAfter, laterMoment, revisionBefore } from './visibility.ts';

it('changes after a revision without a write are between it and the next one, in the state of the first', () => {
  const first = justAfter(6);
  const moments = [atRevision(6), first, justAfter(6, first), atRevision(7), justAfter(7, first)];
  expect(moments.toReversed().toSorted(compareMoments)).toEqual(moments);
  expect(moments.map(({ revision }) => revision)).toEqual([6, 6, 6, 7, 7]);
  expect(moments.map(revisionBefore)).toEqual([5, 6, 6, 6, 7]);
  expect(laterMoment(first, atRevision(7))).toEqual(laterMoment(atRevision(7), first));
});

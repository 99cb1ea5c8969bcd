import { expect, it } from 'vitest';
import { leaderGuards, soleLeadership } from './leadership.ts';

it('a write of the leader is fenced where there are others, free where there are none, and refused without the lead', () => {
  const fence = { key: '/internal/leader', expect: { createRevision: 5 } };
  expect(leaderGuards({ leads: () => true, fence: () => fence })).toEqual([fence]);
  expect(leaderGuards(soleLeadership)).toEqual([]);
  expect(() => leaderGuards({ leads: () => false, fence: () => undefined })).toThrow(/no longer leads/);
});

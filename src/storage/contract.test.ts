import { expect, it } from 'vitest';
import { leaderGuards, soleLeadership } from './contract.ts';

it('leaderGuards returns the fence, none for a sole process, and throws without leadership', () => {
  const fence = { key: '/internal/leader', expect: { createRevision: 5 } };
  expect(leaderGuards({ leads: () => true, fence: () => fence })).toEqual([fence]);
  expect(leaderGuards(soleLeadership)).toEqual([]);
  expect(() => leaderGuards({ leads: () => false, fence: () => undefined })).toThrow(/no longer leads/);
});

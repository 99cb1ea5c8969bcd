import { expect, it } from 'vitest';
import { timelineOf } from './conditions-section.tsx';

it('lists a transition once, whether the page has seen it or the condition reports it', () => {
  const lastTransitionTime = '2026-11-14T00:00:00Z';
  const conditions = [{ type: 'Ready', status: 'False', reason: 'IsFalse', lastTransitionTime }];
  const seen = { type: 'Ready', from: 'True', to: 'False', reason: 'IsFalse', at: Date.parse(lastTransitionTime) };
  const titles = (transitions: (typeof seen)[]): string[] =>
    timelineOf(conditions, transitions, '2026-01-01T00:00:00Z').map(({ title }) => title);
  expect(titles([seen])).toEqual(['Ready: True → False', 'Registered']);
  expect(titles([])).toEqual(['Ready: False', 'Registered']);
});

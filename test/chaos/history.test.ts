import { describe, expect, it } from 'vitest';
import { type History, judge } from './history.ts';

const writes = [
  { writer: 'w', n: 1, version: 10 },
  { writer: 'w', n: 2, version: 12 },
];
const events = [
  { name: 'w', n: 1, version: 10 },
  { name: 'x', n: 7, version: 11 },
  { name: 'w', n: 2, version: 12 },
];
const good: History = {
  writes,
  reads: [{ writer: 'w', acknowledged: 1, tried: 2, seen: 2, replica: 0 }],
  watchers: [
    [{ after: 9, upTo: 12, events }],
    [
      { after: 9, upTo: 10, events: events.slice(0, 1) },
      { after: 11, upTo: 12, events: events.slice(2) },
    ],
  ],
};

describe('the judge of histories', () => {
  it('finds nothing wrong with one that is right, and says how much it looked at', () => {
    expect(judge(good)).toEqual({
      problems: [],
      checked: { writes: 2, reads: 1, watchers: 2, events: 5, expectations: 5 },
    });
  });

  it.each<[string, Partial<History>, RegExp]>([
    ['a version given twice', { writes: [...writes, { writer: 'v', n: 1, version: 12 }] }, /was given to/],
    ['versions that go back', { writes: writes.toReversed() }, /is older than/],
    ['a stale read', { reads: [{ writer: 'w', acknowledged: 2, tried: 2, seen: 1, replica: 2 }] }, /replica 2 showed/],
    ['a read of nothing', { reads: [{ writer: 'w', acknowledged: 1, tried: 2, seen: 3, replica: 0 }] }, /nobody wrote/],
    ['a missed event', { watchers: [[{ after: 9, upTo: 12, events: events.slice(1) }]] }, /missed 10/],
    [
      'one that only another watch saw',
      { watchers: [...good.watchers, [{ after: 10, upTo: 12, events: events.slice(2) }]] },
      /missed 11/,
    ],
    [
      'a doubled event',
      { watchers: [[{ after: 9, upTo: 12, events: [...events, ...events.slice(2)] }]] },
      /showed 12 after 12/,
    ],
    [
      'events out of order',
      { watchers: [[{ after: 9, upTo: 12, events: events.toReversed() }]] },
      /showed 11 after 12/,
    ],
    [
      'an event that is another one',
      { watchers: [[{ after: 9, upTo: 12, events: events.with(0, { name: 'w', n: 5, version: 10 }) }]] },
      /was shown as/,
    ],
  ])('%s', (_, change, problem) => {
    expect(judge({ ...good, ...change }).problems.join('\n')).toMatch(problem);
  });
});

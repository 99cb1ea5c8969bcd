import { describe, expect, it } from 'vitest';
import { type Acknowledged, HistoryChecker, type Shown } from './history-checker.ts';

const WRITES: readonly Acknowledged[] = [
  { name: 'w', content: '1', base: 9, version: 10 },
  { name: 'w', content: '2', base: 10, version: 12 },
];
const EVENTS: readonly Shown[] = [
  { name: 'w', content: '1', version: 10 },
  { name: 'x', content: '7', version: 11 },
  { name: 'w', content: '2', version: 12 },
];

/** A checker of a correct history, with one change. */
function checkerOf({
  writes = WRITES,
  watchers = [EVENTS, EVENTS],
  more = () => {},
  final = 12,
}: {
  writes?: readonly Acknowledged[];
  watchers?: readonly (readonly Shown[])[];
  more?: (checker: HistoryChecker) => void;
  final?: number;
} = {}): HistoryChecker {
  const checker = new HistoryChecker();
  checker.created('w', 9);
  for (const write of writes) checker.acknowledged(write);
  for (const events of watchers) {
    const log = checker.watcher();
    log.listed(9);
    for (const event of events) log.shown(event);
    log.reached(13);
  }
  checker.read({ name: 'w', acknowledged: 1, tried: 2, seen: 2, replica: 0 });
  more(checker);
  checker.close();
  checker.compare([
    [
      { name: 'w', version: 12 },
      { name: 'x', version: 11 },
    ],
    [
      { name: 'w', version: final },
      { name: 'x', version: 11 },
    ],
  ]);
  return checker;
}

const kindsIn = (checker: HistoryChecker): string[] => [...checker.problems.keys()];

describe('HistoryChecker', () => {
  it('finds no problem in a correct history, and counts its checks', () => {
    const checker = checkerOf();
    expect([...checker.problems]).toEqual([]);
    expect(checker.checked).toEqual({
      writes: 2,
      contests: 0,
      reads: 1,
      watchers: 2,
      events: 6,
      expectations: 6,
      resumed: 0,
      finalObjects: 4,
      revocations: 0,
      revokedTried: 0,
      endingPasses: 0,
      endedRefused: 0,
      endsFollowed: 0,
    });
  });

  it.each<[string, Parameters<typeof checkerOf>[0], string[]]>([
    ['a write that no watch shows', { watchers: [EVENTS.slice(0, 2)] }, ['lost write', 'missed event']],
    ['an event that one watch missed', { watchers: [EVENTS, EVENTS.slice(1)] }, ['missed event']],
    ['one that only another watch saw', { watchers: [EVENTS, EVENTS.toSpliced(1, 1)] }, ['missed event']],
    ['a doubled event', { watchers: [EVENTS, [...EVENTS, ...EVENTS.slice(2)]] }, ['event twice or out of order']],
    ['events out of order', { watchers: [EVENTS.toReversed()] }, ['event twice or out of order']],
    [
      'an event that is another one',
      { watchers: [EVENTS.with(0, { name: 'w', content: '5', version: 10 })] },
      ['different event', 'lost write'],
    ],
    [
      'a version given twice',
      { writes: [...WRITES, { name: 'v', content: '1', base: 3, version: 12 }] },
      ['version given twice'],
    ],
    [
      'two writes on top of one version',
      { more: (checker) => checker.acknowledged({ name: 'w', content: '3', base: 9, version: 13 }) },
      ['two winners', 'lost write', 'missed event', 'lost update', 'replicas differ'],
    ],
    [
      'a write over one that was not seen',
      { writes: [{ name: 'w', content: '2', base: 9, version: 12 }] },
      ['lost update'],
    ],
    ['a contest without a winner', { more: (checker) => checker.allRefused('w', 12) }, ['no winner']],
    ['a contest that another write won', { more: (checker) => checker.allRefused('w', 10) }, []],
    [
      'a stale read',
      { more: (checker) => checker.read({ name: 'w', acknowledged: 2, tried: 2, seen: 1, replica: 2 }) },
      ['stale read'],
    ],
    [
      'a read of nothing',
      { more: (checker) => checker.read({ name: 'w', acknowledged: 2, tried: 2, seen: 3, replica: 2 }) },
      ['read of nothing'],
    ],
    [
      'a pass that ends a second after its binding',
      { more: (checker) => checker.endingPass({ expirationTimestamp: '1970-01-01T00:00:01Z' }, { exp: 2 }, 1_000) },
      ['pass outlives its binding'],
    ],
    ['a replica with an old version', { final: 10 }, ['replicas differ']],
    [
      'a write that was acknowledged when all watches were past it',
      {
        more: (checker) => {
          checker.settle();
          checker.acknowledged({ name: 'v', content: '1', base: 5, version: 8 });
        },
      },
      ['lost write', 'replicas differ'],
    ],
  ])('%s', (_, change, kinds) => {
    expect(kindsIn(checkerOf(change))).toEqual(kinds);
  });
});

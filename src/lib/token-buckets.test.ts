import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenBuckets } from './token-buckets.ts';

function start(maxAheadMs = 0) {
  let now = 0;
  const buckets = new TokenBuckets({ perSecond: 2, burst: 3, maxAheadMs, now: () => now });
  const takeAll = (key: string): number => {
    let taken = 0;
    while (taken < 100 && buckets.tryTake(key)) taken += 1;
    return taken;
  };
  return { buckets, takeAll, pass: (ms: number) => (now += ms) };
}

describe('a token bucket', () => {
  it('has a burst, and then tokens at its rate', () => {
    const { takeAll, pass } = start();
    expect(takeAll('a')).toBe(3);
    pass(499);
    expect(takeAll('a')).toBe(0);
    pass(1);
    expect(takeAll('a')).toBe(1);
    pass(60_000);
    expect([takeAll('a'), takeAll('b')]).toEqual([3, 3]);
  });

  it('gets a token back, and is never more than full', () => {
    const { buckets, takeAll, pass } = start();
    takeAll('a');
    buckets.refund('a');
    expect(takeAll('a')).toBe(1);
    pass(60_000);
    for (let i = 0; i < 10; i += 1) buckets.refund('a');
    expect(takeAll('a')).toBe(3);
  });

  it('never gives more than its burst and its rate', () => {
    const step = fc.oneof(fc.constant('take' as const), fc.integer({ min: 0, max: 3_000 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const { buckets, pass } = start();
        const takenAt: number[] = [];
        let now = 0;
        for (const one of steps) {
          if (one === 'take') {
            if (buckets.tryTake('a')) takenAt.push(now);
          } else {
            now += one;
            pass(one);
          }
        }
        takenAt.forEach((from, first) => {
          takenAt.slice(first).forEach((until, count) => {
            expect(count + 1).toBeLessThanOrEqual(3 + ((until - from) * 2) / 1000 + 1e-9);
          });
        });
      }),
    );
  });
});

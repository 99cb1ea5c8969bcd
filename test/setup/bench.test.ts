import { describe, expect, test } from 'vitest';
import { alternate, holds, type Row, rowOf } from '../../bench/support/compare.ts';
import { median } from '../../bench/support/numbers.ts';

const round = (rate: number, cpuPerUnit: number) => ({ rate, cpuPerUnit });
const row = (goal: Row['goal']): Row =>
  rowOf(
    { name: 'x', unit: 'units', goal },
    {
      ours: [round(50, 20), round(90, 25), round(70, 40)],
      floor: [round(100, 10), round(100, 20), round(100, 20)],
    },
  );

describe('the comparison with a floor', () => {
  test('compares round by round, and says how far the rounds are apart', () => {
    expect(row({ share: 0.5 }).cpuRatio).toEqual([0.5, 0.5, 0.8]);
    expect(row({ share: 0.5 }).ratio).toEqual([0.7, 0.5, 0.9]);
    expect(median([1, 2, 3, 10])).toBe(2.5);
  });

  test('holds a goal by the median: a share of the floor, or times its cost', () => {
    expect([{ share: 0.5 }, { share: 0.51 }].map((goal) => holds(row(goal)))).toEqual([true, false]);
    expect([{ times: 2 }, { times: 1.9 }].map((goal) => holds(row(goal)))).toEqual([true, false]);
    expect([{ rateShare: 0.7 }, { rateShare: 0.71 }].map((goal) => holds(row(goal)))).toEqual([true, false]);
  });

  test('lets each side begin in turn', async () => {
    const order: string[] = [];
    const side = (name: string) => async () => {
      order.push(name);
      return round(1, 1);
    };
    await alternate({ rounds: 3, seconds: 1 }, side('ours'), side('floor'));
    expect(order).toEqual(['ours', 'floor', 'floor', 'ours', 'ours', 'floor']);
  });
});

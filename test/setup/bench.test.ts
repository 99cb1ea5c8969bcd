import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { alternate, compared, holds, median, percentile } from '../../bench/support/measure.ts';

const BENCH = fileURLToPath(new URL('../../bench/', import.meta.url));

const round = (rate: number, cpuPerUnit: number) => ({ rate, cpuPerUnit });
const figure = (cpuShare: number) =>
  compared('x', cpuShare, {
    ours: [round(50, 20), round(90, 25), round(70, 40)],
    floor: [round(100, 10), round(100, 20), round(100, 20)],
  });

describe('the comparison with a floor', () => {
  test('compares round by round, and gives the lowest and the highest round', () => {
    expect(figure(0.5)).toMatchObject({ value: 0.5, range: [0.5, 0.8], least: 0.5 });
    expect(median([1, 2, 3, 10])).toBe(2.5);
    expect([0.5, 0.99, 1].map((share) => percentile([4, 3, 2, 1], share))).toEqual([3, 4, 4]);
  });

  test('holds a goal by the median of the rounds', () => {
    expect([0.5, 0.51].map((cpuShare) => holds(figure(cpuShare)))).toEqual([true, false]);
    expect(holds({ name: 'x', value: 3, unit: 'ms', limit: 2 })).toBe(false);
  });

  test('alternates the side that begins', async () => {
    const order: string[] = [];
    const side = (name: string) => async () => {
      order.push(name);
      return round(1, 1);
    };
    await alternate({ rounds: 3, progress: () => {} }, side('ours'), side('floor'));
    expect(order).toEqual(['ours', 'floor', 'floor', 'ours', 'ours', 'floor']);
  });
});

describe('npm run bench', () => {
  test('rejects an unknown name, and offers the programs of both folders by name', () => {
    const { status, stderr } = spawnSync(process.execPath, [`${BENCH}main.ts`, 'unknown'], { encoding: 'utf8' });
    expect(status).toBe(2);
    const names = /expected (.*)/.exec(stderr)?.[1]?.split(', ') ?? [];
    const programs = ['goals', 'studies'].flatMap((folder) => readdirSync(`${BENCH}${folder}`));
    expect(names.sort()).toEqual(programs.map((file) => file.replace('.ts', '')).sort());
  });
});

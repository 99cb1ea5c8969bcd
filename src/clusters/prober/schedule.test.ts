import { describe, expect, it } from 'vitest';
import { createProbeSchedule, type ProbeSchedule } from './schedule.ts';

const INTERVAL = 30_000;

/** A random value of 0.5 makes every interval exact. */
const open = (random: () => number = () => 0.5, maxConcurrent = 50): ProbeSchedule =>
  createProbeSchedule(INTERVAL, maxConcurrent, random);

const names = (count: number, prefix = 'c'): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

/** Takes every cluster that may start now. */
function takeAll(schedule: ProbeSchedule, now: number) {
  const taken = [];
  for (let one = schedule.take(now); one !== undefined; one = schedule.take(now)) taken.push(one);
  return taken;
}

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('when a cluster is due', () => {
  it('is due an interval after its probe began, give or take a tenth', () => {
    for (const [value, due] of [
      [0, 27_000],
      [0.5, 30_000],
      [0.999_999, 33_000],
    ] as const) {
      const schedule = open(() => value);
      schedule.addFirst('a');
      schedule.take(0)?.finish(false, 400);
      expect(schedule.nextAt()).toBeCloseTo(due, -1);
    }
  });
});

describe('the number of concurrent probes', () => {
  it('is never more than the maximum', () => {
    const schedule = open();
    for (const name of names(200)) schedule.addFirst(name);
    const first = takeAll(schedule, 0);
    expect(first).toHaveLength(50);
    expect(takeAll(schedule, 0)).toEqual([]);
    first[0]?.finish(false, 10);
    expect(takeAll(schedule, 10)).toHaveLength(1);
  });

  it('is half of the maximum for clusters that failed before: a dead region does not delay the others', () => {
    const schedule = open();
    for (const name of names(100, 'dead')) schedule.addFirst(name);
    for (let pass = 0; pass < 2; pass++) for (const one of takeAll(schedule, 0)) one.finish(true, 0);
    for (const name of names(30, 'healthy')) schedule.addWithinInterval(name, 15_000);
    const taken = takeAll(schedule, 40_000).map(({ name }) => name);
    expect(taken.filter((name) => name.startsWith('dead'))).toHaveLength(25);
    expect(taken.filter((name) => name.startsWith('healthy'))).toHaveLength(25);
  });
});

describe('clusters that change or are deleted', () => {
  it('probes a cluster again at once that changed during its probe', () => {
    const schedule = open();
    schedule.addFirst('a');
    const one = schedule.take(0);
    schedule.addFirst('a');
    expect(schedule.take(5)).toBeUndefined();
    one?.finish(true, 10);
    expect(schedule.take(10)?.name).toBe('a');
  });
});

describe('a large fleet', () => {
  it('probes each of 20,000 clusters in an interval, and few of them twice', () => {
    const schedule = open(seeded(7), 50);
    for (const name of names(20_000)) schedule.addWithinInterval(name, 0);
    const seen = new Set<string>();
    let probes = 0;
    for (let now = 0; now <= INTERVAL && seen.size < 20_000; now++) {
      for (const one of takeAll(schedule, now)) {
        seen.add(one.name);
        probes++;
        one.finish(false, now);
      }
    }
    expect(seen.size).toBe(20_000);
    // The first ones are due again after nine tenths of an interval.
    expect(probes).toBeLessThan(22_400);
  });
});

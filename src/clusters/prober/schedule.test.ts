import { describe, expect, it } from 'vitest';
import { ProbeSchedule } from './schedule.ts';

const INTERVAL = 30_000;

/** Always in the middle: an interval is an interval. */
const open = (random: () => number = () => 0.5, atOnce = 50): ProbeSchedule =>
  new ProbeSchedule({ intervalMs: INTERVAL, atOnce, random });

const names = (count: number, prefix = 'c'): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

/** Takes all that may be taken now. */
function takeAll(schedule: ProbeSchedule, now: number) {
  const taken = [];
  for (let one = schedule.take(now); one !== undefined; one = schedule.take(now)) taken.push(one);
  return taken;
}

/** A small generator with a good spread (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('when it is the turn of a cluster', () => {
  it('spreads a fleet that comes together over one interval', () => {
    const schedule = open(seeded(1), 1_000);
    for (const name of names(1_000)) schedule.addSometime(name, 0);
    const counts = [0.25, 0.5, 0.75, 1].map((part) => takeAll(schedule, part * INTERVAL).length);
    for (const count of counts) expect(count).toBeGreaterThan(180);
    expect(counts.reduce((sum, count) => sum + count)).toBe(1_000);
  });

  it('comes again an interval after its look began, give or take a tenth', () => {
    for (const [value, due] of [
      [0, 27_000],
      [0.5, 30_000],
      [0.999_999, 33_000],
    ] as const) {
      const schedule = open(() => value);
      schedule.addOrHurry('a');
      schedule.take(0)?.finish(false, 400);
      expect(schedule.nextAt()).toBeCloseTo(due, -1);
    }
  });

  it('does not make up for looks that it missed', () => {
    const schedule = open();
    schedule.addOrHurry('a');
    schedule.take(0)?.finish(true, 100_000);
    expect(schedule.nextAt()).toBe(100_000);
    schedule.take(100_000)?.finish(false, 100_010);
    expect(schedule.nextAt()).toBe(130_000);
  });

  it('lets the one that has waited longest go first, and a changed one before all', () => {
    const schedule = open(() => 0.5, 1);
    for (const [i, name] of ['late', 'later'].entries()) schedule.addSometime(name, i);
    schedule.addSometime('changed', 2);
    schedule.addOrHurry('changed');
    const order = [];
    for (let one = schedule.take(60_000); order.length < 3 && one !== undefined; one = schedule.take(60_000)) {
      order.push(one.name);
      one.finish(false, 60_000);
    }
    expect(order).toEqual(['changed', 'late', 'later']);
  });

  it('asks to be woken when the next is due, and not while there is no place', () => {
    const schedule = open(() => 0.5, 1);
    expect(schedule.nextAt()).toBeUndefined();
    schedule.addSometime('a', 0);
    schedule.addSometime('b', 0);
    expect(schedule.nextAt()).toBe(15_000);
    const one = schedule.take(15_000);
    expect(schedule.nextAt()).toBeUndefined();
    one?.finish(false, 15_100);
    expect(schedule.nextAt()).toBe(15_000);
  });
});

describe('how many are looked at in the same moment', () => {
  it('is never more than was said', () => {
    const schedule = open();
    for (const name of names(200)) schedule.addOrHurry(name);
    const first = takeAll(schedule, 0);
    expect([first.length, schedule.running]).toEqual([50, 50]);
    first[0]?.finish(false, 10);
    expect(takeAll(schedule, 10)).toHaveLength(1);
  });

  it('is half of that for clusters that failed before: a dead region does not keep the others waiting', () => {
    const schedule = open();
    for (const name of names(100, 'dead')) schedule.addOrHurry(name);
    for (let round = 0; round < 2; round++) for (const one of takeAll(schedule, 0)) one.finish(true, 0);
    for (const name of names(30, 'well')) schedule.addSometime(name, 15_000);
    const taken = takeAll(schedule, 40_000).map(({ name }) => name);
    expect(taken.filter((name) => name.startsWith('dead'))).toHaveLength(25);
    expect(taken.filter((name) => name.startsWith('well'))).toHaveLength(25);
  });

  it('lets a changed cluster leave the lane of those that failed', () => {
    const schedule = open();
    for (const name of names(50)) schedule.addOrHurry(name);
    for (const one of takeAll(schedule, 0)) one.finish(true, 0);
    expect(takeAll(schedule, 40_000)).toHaveLength(25);
    schedule.addOrHurry('c49');
    expect(takeAll(schedule, 40_000).map(({ name }) => name)).toEqual(['c49']);
  });
});

describe('clusters that change or go', () => {
  it('looks again at once at one that changed while it was looked at', () => {
    const schedule = open();
    schedule.addOrHurry('a');
    const one = schedule.take(0);
    schedule.addOrHurry('a');
    expect(schedule.take(5)).toBeUndefined();
    one?.finish(true, 10);
    expect(schedule.take(10)?.name).toBe('a');
  });

  it('forgets one that was removed, also in the middle of a look, and gives its place back', () => {
    const schedule = open(() => 0.5, 1);
    schedule.addOrHurry('a');
    schedule.addOrHurry('b');
    const one = schedule.take(0);
    schedule.remove('a');
    one?.finish(false, 10);
    expect([schedule.size, schedule.take(10)?.name]).toEqual([1, 'b']);
    schedule.remove('b');
    expect([...schedule.names()]).toEqual([]);
  });
});

describe('a large fleet', () => {
  it('serves every one of 20,000 clusters in an interval, and few of them twice', () => {
    const schedule = open(seeded(7), 50);
    for (const name of names(20_000)) schedule.addSometime(name, 0);
    const seen = new Set<string>();
    let looks = 0;
    for (let now = 0; now <= INTERVAL && seen.size < 20_000; now++) {
      for (const one of takeAll(schedule, now)) {
        seen.add(one.name);
        looks++;
        one.finish(false, now);
      }
    }
    expect(seen.size).toBe(20_000);
    // Those that came first come a second time after nine tenths of an interval.
    expect(looks).toBeLessThan(22_400);
  });
});

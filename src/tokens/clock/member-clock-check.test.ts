import { describe, expect, it } from 'vitest';
import { MemberClockCheck } from './member-clock-check.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const LIMIT = 30_000;

/** Members whose clocks are so many milliseconds ahead of the true time, and our own clock, which a test may set. */
function open(members: Readonly<Record<string, number>>, { responseTakes = 0 } = {}) {
  const clock = { monotonic: 0, ahead: 0 };
  const check = new MemberClockCheck({
    now: () => START + clock.monotonic + clock.ahead,
    monotonicNow: () => clock.monotonic,
  });
  const ask = (names: readonly string[] = Object.keys(members)): void => {
    const asked = clock.monotonic;
    clock.monotonic += responseTakes;
    check.update(
      names.map((member) => ({
        member,
        // The response is written at once and delayed on its way: the worst case.
        time: Math.floor((START + asked + (members[member] ?? 0)) / 1000) * 1000,
        asked,
        answered: clock.monotonic,
      })),
    );
  };
  ask();
  return { clock, check, ask, isWrong: () => Math.abs(check.skewMs()) > LIMIT };
}

describe('B13: the clock compared with those of the etcd members', () => {
  it.each([
    [0, false],
    [29, false],
    [-29, false],
    [32, true],
    [-32, true],
    [3600, true],
    [-3600, true],
  ])('ours is off by %d s: wrong %s', (seconds, wrong) => {
    const { clock, isWrong } = open({ a: 0, b: 0, c: 0 });
    clock.ahead = seconds * 1000;
    expect(isWrong()).toBe(wrong);
  });

  it('without a response there is no evidence against it', () => {
    const { clock, check } = open({});
    clock.ahead = 3_600_000;
    expect(check.skewMs()).toBe(0);
  });

  it.each([
    ['one of one', [99], true],
    ['one of two', [0, 99], false],
    ['two of two', [99, 99], true],
    ['one of three', [0, 0, 99], false],
    ['two of three, which need not agree', [0, 99, -99], true],
    ['two of four', [0, 0, 99, 99], false],
    ['three of five', [0, 0, 99, 99, 99], true],
  ])('%s members are far from ours: wrong %3$s', (_, seconds, wrong) => {
    const { isWrong } = open(Object.fromEntries(seconds.map((ahead, index) => [`m${index}`, ahead * 1000])));
    expect(isWrong()).toBe(wrong);
  });

  it('a jump shows without another reading, and so does its end', () => {
    const { clock, isWrong } = open({ a: 0 });
    clock.monotonic += 9_000;
    expect(isWrong()).toBe(false);
    clock.ahead = -45_000;
    expect(isWrong()).toBe(true);
    clock.ahead = 0;
    expect(isWrong()).toBe(false);
  });

  it('members that are set right count with their next reading', () => {
    const members = { a: 60_000, b: 60_000, c: 0 };
    const { clock, ask, isWrong } = open(members);
    expect(isWrong()).toBe(true);
    members.a = 0;
    clock.monotonic += 10_000;
    ask(['a']);
    expect(isWrong()).toBe(false);
  });

  it('a reading is ignored after ten minutes', () => {
    const { clock, isWrong } = open({ a: 60_000 });
    clock.monotonic += 600_000;
    expect(isWrong()).toBe(true);
    clock.monotonic += 1;
    expect(isWrong()).toBe(false);
  });
});

import { describe, expect, it } from 'vitest';
import { MemberTimes } from './member-times.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const LIMIT = 30_000;

/** Members whose clocks are so many milliseconds ahead of the true time, and our own clock, which a test may set. */
function open(members: Readonly<Record<string, number>>, { answerTakes = 0 } = {}) {
  const clock = { steady: 0, ahead: 0 };
  const times = new MemberTimes({ now: () => START + clock.steady + clock.ahead, steady: () => clock.steady });
  const ask = (names: readonly string[] = Object.keys(members)): void => {
    const asked = clock.steady;
    clock.steady += answerTakes;
    times.learn(
      names.map((member) => ({
        member,
        // Answered right away, and a long way back: the worst case for who asks.
        time: Math.floor((START + asked + (members[member] ?? 0)) / 1000) * 1000,
        asked,
        answered: clock.steady,
      })),
    );
  };
  ask();
  return { clock, times, ask, isWrong: () => Math.abs(times.skewMs()) > LIMIT };
}

describe('B13: the clock beside those of the members of etcd', () => {
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

  it('without an answer nothing is said against it', () => {
    const { clock, times } = open({});
    clock.ahead = 3_600_000;
    expect(times.skewMs()).toBe(0);
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

  it('a jump is seen without another answer, and so is its end', () => {
    const { clock, isWrong } = open({ a: 0 });
    clock.steady += 9_000;
    expect(isWrong()).toBe(false);
    clock.ahead = -45_000;
    expect(isWrong()).toBe(true);
    clock.ahead = 0;
    expect(isWrong()).toBe(false);
  });

  it('an answer that took long accuses nobody of what may be its own delay', () => {
    const { clock, times, isWrong } = open({ a: 0 }, { answerTakes: 2_000 });
    expect(times.skewMs()).toBe(0);
    clock.ahead = 31_000;
    expect(isWrong()).toBe(false);
    clock.ahead = 34_000;
    expect(isWrong()).toBe(true);
  });

  it('members that are set right count with their next answer', () => {
    const members = { a: 60_000, b: 60_000, c: 0 };
    const { clock, ask, isWrong } = open(members);
    expect(isWrong()).toBe(true);
    members.a = 0;
    clock.steady += 10_000;
    ask(['a']);
    expect(isWrong()).toBe(false);
  });

  it('after ten minutes without a word from anybody, nobody accuses', () => {
    const { clock, isWrong } = open({ a: 60_000 });
    clock.steady += 600_000;
    expect(isWrong()).toBe(true);
    clock.steady += 1;
    expect(isWrong()).toBe(false);
  });
});

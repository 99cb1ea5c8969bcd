import { describe, expect, it } from 'vitest';
import { StoredTimeCheck, TRUST_AFTER_MS } from './stored-time-check.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;

function open({ stored, ahead = 0 }: { stored?: number; ahead?: number } = {}) {
  const clock = { monotonic: 5_000, ahead };
  const trusted: number[] = [];
  const check = new StoredTimeCheck({
    now: () => START + clock.monotonic + clock.ahead,
    monotonicNow: () => clock.monotonic,
    limitMs: 30_000,
    storedTime: stored === undefined ? undefined : START + clock.monotonic + stored,
    onTrusted: (skewMs) => trusted.push(skewMs),
  });
  /** As the program does: a check every second, and one for each token. */
  const pass = (ms: number): void => {
    for (const end = clock.monotonic + ms; clock.monotonic < end; clock.monotonic += 1_000) check.skewMs();
  };
  return { clock, check, pass, trusted };
}

describe('B13: a clock without another one to compare it with', () => {
  it.each([
    ['as it was', 0, 0],
    ['back by a small adjustment', -30_000, 0],
    ['back', -31_000, -31_000],
    ['back by an hour', -HOUR, -HOUR],
    // The machine may have been suspended.
    ['ahead', HOUR, 0],
  ])('%s', (_, jump, skew) => {
    const { clock, check, pass } = open();
    pass(MINUTE);
    clock.ahead = jump;
    expect(check.skewMs()).toBe(skew);
  });

  it('is right as soon as it is set right', () => {
    const { clock, check, pass } = open();
    clock.ahead = -HOUR;
    pass(MINUTE);
    expect(check.skewMs()).toBe(-HOUR);
    clock.ahead = 0;
    expect(check.skewMs()).toBe(0);
  });

  it('that was ahead for a while is right when it is back, and that time was never stored', () => {
    const { clock, check, pass } = open();
    expect(check.trustedTime()).toBe(START + 5_000);
    clock.ahead = YEAR;
    pass(TRUST_AFTER_MS - MINUTE);
    expect(check.trustedTime()).toBeUndefined();
    clock.ahead = 0;
    expect(check.skewMs()).toBe(0);
    expect(check.trustedTime()).toBe(START + clock.monotonic);
  });

  it('that has not jumped again for ten minutes is trusted, logged once, and stored', () => {
    const { clock, check, pass, trusted } = open();
    clock.ahead = -HOUR;
    pass(TRUST_AFTER_MS);
    expect([check.skewMs(), trusted]).toEqual([0, [-HOUR]]);
    expect(check.trustedTime()).toBe(START + clock.monotonic - HOUR);
    pass(MINUTE);
    expect(trusted).toHaveLength(1);
  });
});

describe('B13: at a start', () => {
  it.each([
    ['after a year', -YEAR, 0],
    ['at once', 0, 0],
    ['with a clock that has lost an hour', HOUR, -HOUR],
    ['with a clock that has lost a little', 30_000, 0],
  ])('%s', (_, stored, skew) => {
    expect(open({ stored }).check.skewMs()).toBe(skew);
  });

  it('a clock that is synchronised after the start is right, however late that is', () => {
    const { clock, check } = open({ stored: HOUR });
    clock.ahead = HOUR + 20 * MINUTE;
    expect(check.skewMs()).toBe(0);
  });

  it('a stored time that is a year ahead makes a right clock wrong for ten minutes, and no longer', () => {
    const { check, pass, clock } = open({ stored: YEAR });
    expect(check.skewMs()).toBe(-YEAR);
    expect(check.trustedTime()).toBeUndefined();
    pass(TRUST_AFTER_MS);
    expect(check.skewMs()).toBe(0);
    expect(check.trustedTime()).toBe(START + clock.monotonic);
  });
});

import { describe, expect, it } from 'vitest';
import { HeldTime, PATIENCE_MS } from './held-time.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;

function open({ last, ahead = 0 }: { last?: number; ahead?: number } = {}) {
  const clock = { steady: 5_000, ahead };
  const believed: number[] = [];
  const held = new HeldTime({
    now: () => START + clock.steady + clock.ahead,
    steady: () => clock.steady,
    limitMs: 30_000,
    last: last === undefined ? undefined : START + clock.steady + last,
    onBelieved: (skewMs) => believed.push(skewMs),
  });
  /** As the program does: it looks once in a second, and whenever somebody asks. */
  const pass = (ms: number): void => {
    for (const end = clock.steady + ms; clock.steady < end; clock.steady += 1_000) held.skewMs();
  };
  return { clock, held, pass, believed };
}

describe('B13: a clock that has only itself to be compared with', () => {
  it.each([
    ['as it was', 0, 0],
    ['back by what clocks are set by', -30_000, 0],
    ['back', -31_000, -31_000],
    ['back by an hour', -HOUR, -HOUR],
    // The machine may have slept.
    ['ahead', HOUR, 0],
  ])('%s', (_, jump, skew) => {
    const { clock, held, pass } = open();
    pass(MINUTE);
    clock.ahead = jump;
    expect(held.skewMs()).toBe(skew);
  });

  it('is right as soon as it is set right', () => {
    const { clock, held, pass } = open();
    clock.ahead = -HOUR;
    pass(MINUTE);
    expect(held.skewMs()).toBe(-HOUR);
    clock.ahead = 0;
    expect(held.skewMs()).toBe(0);
  });

  it('that was ahead for a while is right when it is back, and that time was never written down', () => {
    const { clock, held, pass } = open();
    expect(held.certain()).toBe(START + 5_000);
    clock.ahead = YEAR;
    pass(PATIENCE_MS - MINUTE);
    expect(held.certain()).toBeUndefined();
    clock.ahead = 0;
    expect(held.skewMs()).toBe(0);
    expect(held.certain()).toBe(START + clock.steady);
  });

  it('that has kept its new time for ten minutes is believed, told of once, and written down', () => {
    const { clock, held, pass, believed } = open();
    clock.ahead = -HOUR;
    pass(PATIENCE_MS);
    expect([held.skewMs(), believed]).toEqual([0, [-HOUR]]);
    expect(held.certain()).toBe(START + clock.steady - HOUR);
    pass(MINUTE);
    expect(believed).toHaveLength(1);
  });

  it('that keeps jumping is not', () => {
    const { clock, held, pass } = open();
    for (let round = 1; round <= 10; round += 1) {
      clock.ahead = -HOUR - round * MINUTE;
      pass(PATIENCE_MS - MINUTE);
    }
    expect(held.skewMs()).toBe(clock.ahead);
  });

  it('small steps add up without harm', () => {
    const { clock, held } = open();
    for (let step = 1; step <= 10; step += 1) {
      clock.ahead = step * -20_000;
      expect(held.skewMs()).toBe(0);
    }
  });
});

describe('B13: at a start', () => {
  it.each([
    ['after a year', -YEAR, 0],
    ['at once', 0, 0],
    ['with a clock that has lost an hour', HOUR, -HOUR],
    ['with a clock that has lost a little', 30_000, 0],
  ])('%s', (_, last, skew) => {
    expect(open({ last }).held.skewMs()).toBe(skew);
  });

  it('a clock that hears the right time after the start is right, however late that is', () => {
    const { clock, held } = open({ last: HOUR });
    clock.ahead = HOUR + 20 * MINUTE;
    expect(held.skewMs()).toBe(0);
  });

  it('a time in the store that was a year ahead holds a right clock up for ten minutes, and no longer', () => {
    const { held, pass, clock } = open({ last: YEAR });
    expect(held.skewMs()).toBe(-YEAR);
    expect(held.certain()).toBeUndefined();
    pass(PATIENCE_MS);
    expect(held.skewMs()).toBe(0);
    expect(held.certain()).toBe(START + clock.steady);
  });
});

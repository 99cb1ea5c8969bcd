import { describe, expect, it } from 'vitest';
import { ClockBehind } from './clock-behind.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

function open() {
  const told: number[] = [];
  const clock = { now: START, uptime: 0 };
  const behind = new ClockBehind({
    now: () => clock.now,
    uptime: () => clock.uptime,
    report: (seconds) => told.push(seconds),
  });
  const event = (before: object | undefined, after: object | undefined): void =>
    behind.onEvent({ before, after } as Parameters<ClockBehind['onEvent']>[0]);
  const objectMadeAt = (ms: number) => ({
    object: () => ({ metadata: { creationTimestamp: new Date(ms).toISOString().replace('.000', '') } }),
  });
  /** Another replica, whose clock is so many seconds ahead of ours, makes an object; time goes on first. */
  const made = (ahead: number): void => {
    clock.uptime += 1_000;
    event(undefined, objectMadeAt(clock.now + ahead * 1000));
  };
  return { behind, clock, told, made, event, objectMadeAt };
}

describe('B13: a clock behind that of another replica', () => {
  it.each([
    [-3600, 0, []],
    [0, 0, []],
    [29, 29, []],
    [31, 31, [31]],
    [3600, 3600, [3600]],
  ])('by %d s is known as %d, and told from half a minute on', (ahead, seconds, lines) => {
    const { behind, made, told } = open();
    made(ahead);
    expect([behind.seconds, told]).toEqual([seconds, lines]);
  });

  it('is told once for the same distance, and forgotten after ten minutes without it', () => {
    const { behind, made, told, clock } = open();
    for (let i = 0; i < 5; i += 1) made(45);
    made(0);
    expect([behind.seconds, told]).toEqual([45, [45]]);
    clock.uptime += 600_001;
    expect(behind.seconds).toBe(0);
    made(45);
    expect(told).toEqual([45, 45]);
  });

  it('is read from new objects only, and from one a second', () => {
    const { behind, clock, event, objectMadeAt, made } = open();
    clock.uptime += 1_000;
    const late = objectMadeAt(clock.now + 50_000);
    event(late, late);
    event(late, undefined);
    expect(behind.seconds).toBe(0);
    made(10);
    event(undefined, late);
    expect(behind.seconds).toBe(10);
    event(undefined, { object: () => ({ metadata: {} }) });
    clock.uptime += 1_000;
    event(undefined, { object: () => ({ metadata: {} }) });
    expect(behind.seconds).toBe(10);
  });
});

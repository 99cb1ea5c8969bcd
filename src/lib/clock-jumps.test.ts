import { expect, it } from 'vitest';
import { ClockJumps, JUMP_MS, STEADY_MS } from './clock-jumps.ts';

function open(jumpedBefore = false) {
  const clock = { monotonic: 500, ahead: 0 };
  const jumps = new ClockJumps({
    now: () => 1_000_000 + clock.monotonic + clock.ahead,
    monotonicNow: () => clock.monotonic,
    jumpedBefore,
  });
  return { clock, jumps };
}

const DAY = 86_400_000;

it.each([
  ['ahead', 3 * DAY],
  ['back', -3 * DAY],
])('B31: a clock that is set %s is not steady for an hour, also when it is set right at once', (_, ms) => {
  const { clock, jumps } = open();
  expect(jumps.isSteady()).toBe(true);
  clock.monotonic += DAY;
  expect(jumps.isSteady()).toBe(true);
  clock.ahead = ms;
  expect(jumps.isSteady()).toBe(false);
  clock.monotonic += 3_000;
  clock.ahead = 0;
  expect(jumps.isSteady()).toBe(false);
  clock.monotonic += STEADY_MS - 1;
  expect(jumps.isSteady()).toBe(false);
  clock.monotonic += 1;
  expect(jumps.isSteady()).toBe(true);
});

it('corrections by time synchronization are no jumps', () => {
  const { clock, jumps } = open();
  for (let i = 0; i < 100; i++) {
    clock.monotonic += 1_000;
    clock.ahead += i % 2 === 0 ? JUMP_MS : -JUMP_MS;
    expect(jumps.isSteady()).toBe(true);
  }
});

it('a jump before the start counts', () => {
  const { clock, jumps } = open(true);
  expect(jumps.isSteady()).toBe(false);
  clock.monotonic += STEADY_MS;
  expect(jumps.isSteady()).toBe(true);
});

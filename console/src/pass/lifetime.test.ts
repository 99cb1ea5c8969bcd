import { expect, it } from 'vitest';
import { formatCountdown, formatDuration, lifetimeSteps } from './lifetime.ts';

it.each([3_600, 86_400, 90_000, 600_000, 4_294_967_296])('a maximum of %d seconds is a step of the slider', (max) => {
  const { steps, maxIndex } = lifetimeSteps(max);
  expect(steps[maxIndex]).toBe(max);
  expect(steps).toEqual([...steps].sort((a, b) => a - b));
  expect(steps[0]).toBe(600);
  if (max < 7 * 86_400) expect(steps.length).toBeGreaterThan(maxIndex + 1);
});

it.each([
  [600, '10 minutes'],
  [3_600, '1 hour'],
  [5_400, '1 h 30 min'],
  [86_400, '24 hours'],
  [172_800, '2 days'],
  [61, '61 seconds'],
])('formats %d seconds as %s', (seconds, text) => expect(formatDuration(seconds)).toBe(text));

it.each([
  [3_600_000, '1:00:00'],
  [59_001, '1:00'],
  [1, '0:01'],
  [-5, '0:00'],
])('counts %d milliseconds down as %s', (remaining, text) => expect(formatCountdown(remaining)).toBe(text));

import { expect, it } from 'vitest';
import { durationsUpTo, formatCountdown, formatDuration } from './lifetime.ts';

it.each<[number, number, string]>([
  [600, 1, '10 minutes'],
  [3_600, 6, '1 hour'],
  [43_200, 12, '12 hours'],
  [90_000, 15, '25 hours'],
  [4_294_967_296, 19, '1193046 h 28 min'],
])('with a maximum of %i seconds a form offers %i durations, the longest %s', (max, count, longest) => {
  const durations = durationsUpTo(max);
  expect([durations.length, durations.at(-1)]).toEqual([count, [String(max), longest]]);
  expect(durations[0]).toEqual(['600', '10 minutes']);
});

it.each([
  [600, '10 minutes'],
  [3_600, '1 hour'],
  [5_400, '1 h 30 min'],
  [86_400, '24 hours'],
  [172_800, '2 days'],
  [61, '1 min 1 s'],
])('formats %d seconds as %s', (seconds, text) => expect(formatDuration(seconds)).toBe(text));

it.each([
  [3_600_000, '1:00:00'],
  [59_001, '1:00'],
  [1, '0:01'],
  [-5, '0:00'],
])('counts %d milliseconds down as %s', (remaining, text) => expect(formatCountdown(remaining)).toBe(text));

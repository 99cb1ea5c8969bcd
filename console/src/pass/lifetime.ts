import { quantity } from '../../../src/lib/text.ts';

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** Usual lifetimes in seconds, closer together where they are short. T-14: ten minutes is the shortest. */
const STEPS: readonly number[] = [
  ...[10, 15, 20, 30, 45].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4, 6, 8, 12, 18].map((hours) => hours * HOUR),
  ...[1, 2, 3, 5, 7].map((days) => days * DAY),
];

/** What a form offers: the usual ones below the maximum, and the maximum. */
export const durationsUpTo = (maxSeconds: number): readonly (readonly [seconds: string, text: string])[] =>
  [...STEPS.filter((step) => step < maxSeconds), maxSeconds].map((step) => [String(step), formatDuration(step)]);

/** `1 hour`, `2 days`, `1 h 30 min`, `59 min 58 s`. */
export function formatDuration(seconds: number): string {
  if (seconds >= 2 * DAY && seconds % DAY === 0) return quantity(seconds / DAY, 'day');
  if (seconds >= HOUR && seconds % HOUR === 0) return quantity(seconds / HOUR, 'hour');
  if (seconds >= HOUR) return `${Math.floor(seconds / HOUR)} h ${Math.floor((seconds % HOUR) / MINUTE)} min`;
  if (seconds % MINUTE === 0) return quantity(seconds / MINUTE, 'minute');
  return seconds < MINUTE ? quantity(seconds, 'second') : `${Math.floor(seconds / MINUTE)} min ${seconds % MINUTE} s`;
}

/** `59:59`, `1:00:00`. */
export function formatCountdown(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes, rest] = [Math.floor(seconds / HOUR), Math.floor((seconds % HOUR) / MINUTE), seconds % MINUTE];
  return hours > 0 ? `${hours}:${twoDigits(minutes)}:${twoDigits(rest)}` : `${minutes}:${twoDigits(rest)}`;
}

/** Lifetimes on a scale that is fine where they are short: each step is a lifetime that somebody would ask for. */

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** T-14: nobody grants less than ten minutes. */
export const SHORTEST_SECONDS = 10 * MINUTE;

const STEPS: readonly number[] = [
  ...[10, 15, 20, 30, 45].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4, 6, 8, 12, 18].map((hours) => hours * HOUR),
  ...[1, 2, 3, 5, 7].map((days) => days * DAY),
];

/** The scale of a slider: the usual steps and the limit itself, a little beyond it so that it shows as a limit. */
export function lifetimeSteps(maxSeconds: number): { readonly steps: readonly number[]; readonly limitIndex: number } {
  const steps = [...new Set([...STEPS, maxSeconds])].sort((a, b) => a - b);
  const limitIndex = steps.indexOf(maxSeconds);
  return { steps: steps.slice(0, limitIndex + 3), limitIndex };
}

/** `24h`, `1h30m`, `90s`: as `--duration` takes it. */
export function durationText(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / HOUR), Math.floor((seconds % HOUR) / MINUTE), seconds % MINUTE];
  return `${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${rest > 0 || seconds === 0 ? `${rest}s` : ''}`;
}

/** For people: `1 hour`, `2 days`, `1 h 30 min`. */
export function durationWords(seconds: number): string {
  const plural = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`;
  if (seconds >= 2 * DAY && seconds % DAY === 0) return plural(seconds / DAY, 'day');
  if (seconds >= HOUR && seconds % HOUR === 0) return plural(seconds / HOUR, 'hour');
  if (seconds >= HOUR) return `${Math.floor(seconds / HOUR)} h ${Math.floor((seconds % HOUR) / MINUTE)} min`;
  return seconds % MINUTE === 0 ? plural(seconds / MINUTE, 'minute') : plural(seconds, 'second');
}

/** What is left, to the second: `59:59`, `1:00:00`. */
export function countdown(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes, rest] = [Math.floor(seconds / HOUR), Math.floor((seconds % HOUR) / MINUTE), seconds % MINUTE];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

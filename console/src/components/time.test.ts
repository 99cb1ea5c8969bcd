import { afterEach, expect, it, vi } from 'vitest';
import { describeLocalTime, formatTime } from './time.tsx';

afterEach(() => vi.unstubAllEnvs());

it.each([
  ['UTC', '2026-11-18 17:00:00 UTC', 'In your time zone; 2026-11-18 17:00 UTC.'],
  ['America/Los_Angeles', '2026-11-18 09:00:00 UTC-8', 'In your time zone; 2026-11-18 17:00 UTC.'],
  ['Asia/Kathmandu', '2026-11-18 22:45:00 UTC+5:45', 'In your time zone; 2026-11-18 17:00 UTC.'],
])('times name their zone, in %s', (zone, text, local) => {
  vi.stubEnv('TZ', zone);
  const at = Date.parse('2026-11-18T17:00:00Z');
  expect(formatTime(at)).toBe(text);
  expect(describeLocalTime(text.slice(0, 16).replace(' ', 'T'))).toBe(local);
});

it('a time that is not known has no zone', () => {
  expect(formatTime(Number.NaN)).toBe('unknown');
  expect(describeLocalTime('12026-11-18T17:00')).toBe('In your time zone.');
});

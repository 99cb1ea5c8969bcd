import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Age, describeLocalTime, formatTime, Remaining, Time } from './time.tsx';

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

describe('a time that no date can hold', () => {
  it.each([
    ['Time', Time],
    ['Age', Age],
    ['Remaining', Remaining],
  ])('is shown as unknown: %s', (_, component) => {
    for (const at of [8.64e15 + 1, -9e15, Infinity, Number.NaN, 'tomorrow', '+999999-01-01T00:00:00Z']) {
      const shown = renderToStaticMarkup(createElement(component, { at }));
      expect(shown.replace(' title="unknown"', ''), String(at)).toBe('<time>unknown</time>');
    }
  });
});

it('a time has its ISO form, for programs', () => {
  const shown = renderToStaticMarkup(createElement(Time, { at: '2026-11-16T23:05:10Z' }));
  expect(shown).toContain('dateTime="2026-11-16T23:05:10.000Z"');
});

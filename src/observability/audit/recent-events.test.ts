import { expect, it } from 'vitest';
import { RecentEvents } from './recent-events.ts';

const PROCESS = { instance: 'a', now: () => 0 };

const linesOf = (events: RecentEvents, after = 0): string[] => events.find(after).map(({ line }) => line);

it('finds the lines of both logs, the newest first, after a number', () => {
  const events = new RecentEvents(PROCESS);
  events.add('one', 'requests');
  events.add('two', 'security');
  events.add('three', 'requests');
  expect(linesOf(events)).toEqual(['three', 'two', 'one']);
  expect(linesOf(events, 1)).toEqual(['three', 'two']);
  expect(events.sequence).toBe(3);
});

it('A9: forgets the oldest lines, and rejected requests do not push out security events', () => {
  const events = new RecentEvents(PROCESS);
  events.add('a token', 'security');
  const line = 'x'.repeat(10_000);
  for (let index = 0; index < 200; index++) events.add(`${index} ${line}`, 'requests');
  const lines = linesOf(events);
  expect(lines).toContain('a token');
  expect(lines[0]).toBe(`199 ${line}`);
  // 1 MiB holds 104 such lines.
  expect(lines.length).toBeGreaterThan(90);
  expect(lines.length).toBeLessThanOrEqual(105);
  const kept = lines.length;
  events.add('y'.repeat(200_000), 'requests');
  expect(linesOf(events)).toHaveLength(kept);
});

it('A9: reaches back to its start, and to the oldest line of either log that forgets lines', () => {
  let now = 1_000;
  const events = new RecentEvents({ instance: 'a', now: () => now });
  const fill = (log: 'security' | 'requests', count: number): void => {
    const line = 'x'.repeat(log === 'security' ? 500_000 : 120_000);
    for (let index = 0; index < count; index++) {
      now += 1_000;
      events.add(line, log);
    }
  };
  expect(events.since).toBe(1_000);
  fill('requests', 8);
  expect(events.since).toBe(1_000);
  // The first two are forgotten; the third was added at 4,000.
  fill('requests', 1);
  expect(events.since).toBe(4_000);
  fill('security', 9);
  expect(events.since).toBe(13_000);
});

import { expect, it } from 'vitest';
import { RecentEvents } from './recent-events.ts';

const PROCESS = { instance: 'a', now: () => 0 };

const linesOf = (events: RecentEvents, texts: readonly string[] = [], after = 0): string[] =>
  [
    ...events.find(
      texts.map((text) => text.split('|')),
      after,
    ),
  ].flatMap((found) => (found === undefined ? [] : [found.line]));

it('finds the lines of both logs with all texts, the newest first, after a number', () => {
  const events = new RecentEvents(PROCESS);
  events.add('{"user":"carl","verb":"get"}', 'requests');
  events.add('{"user":"dana","verb":"create","name":"ü"}', 'security');
  events.add('{"user":"carl","verb":"create"}', 'security');
  events.add('{"user":"carl","verb":"list"}', 'requests');
  expect(linesOf(events, ['"carl"'])).toEqual([
    '{"user":"carl","verb":"list"}',
    '{"user":"carl","verb":"create"}',
    '{"user":"carl","verb":"get"}',
  ]);
  expect(linesOf(events, ['"carl"', '"create"'])).toEqual(['{"user":"carl","verb":"create"}']);
  expect(linesOf(events, ['"get"|"list"', '"carl"'])).toHaveLength(2);
  expect(linesOf(events, ['"ü"'])).toEqual(['{"user":"dana","verb":"create","name":"ü"}']);
  expect(linesOf(events, [], 2)).toHaveLength(2);
  expect([...events.find([['"nobody"']], 0)]).toEqual([undefined, undefined, undefined, undefined]);
  expect(events.sequence).toBe(4);
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

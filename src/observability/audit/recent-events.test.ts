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
  // 128 KiB hold 13 such lines; eight slabs, of which the newest is not full.
  expect(lines.length).toBeGreaterThan(7 * 13);
  expect(lines.length).toBeLessThanOrEqual(8 * 13 + 1);
  const kept = lines.length;
  events.add('y'.repeat(200_000), 'requests');
  expect(linesOf(events)).toHaveLength(kept);
});

it('A9: reaches back to its start, and to the oldest line of either log that forgets lines', () => {
  let now = 1_000;
  const events = new RecentEvents({ instance: 'a', now: () => now });
  const slab = (log: 'security' | 'requests'): void => {
    now += 1_000;
    const line = 'x'.repeat(log === 'security' ? 500_000 : 120_000);
    events.add(line, log);
  };
  expect(events.since).toBe(1_000);
  for (let index = 0; index < 8; index++) slab('requests');
  expect(events.since).toBe(1_000);
  // The slab of the first line is reused; the second line was added at 3,000.
  slab('requests');
  expect(events.since).toBe(3_000);
  for (let index = 0; index < 9; index++) slab('security');
  expect(events.since).toBe(12_000);
});

import { expect, it } from 'vitest';
import { firstHeartbeat, nextHeartbeat } from './heartbeat.ts';

const MINUTE = 60_000;
const WALL = Date.parse('2026-01-01T00:10:00Z');
const CLOCK = { now: () => 1_000, wall: () => WALL };

const first = (lastHeartbeatTime: string | undefined, random = 0.5): number =>
  firstHeartbeat(
    {
      apiVersion: '',
      kind: '',
      metadata: {},
      status: { conditions: [{ type: 'Ready', status: 'True', reason: 'ProbeSucceeded', lastHeartbeatTime }] },
    },
    CLOCK,
    () => random,
  );

it('a heartbeat that was written by another process is five minutes old before the next one is written', () => {
  expect(first('2026-01-01T00:08:00Z')).toBe(1_000 + 3 * MINUTE);
  expect(first('2026-01-01T00:10:00Z')).toBe(1_000 + 5 * MINUTE);
});

it('heartbeats that are overdue are spread over five minutes', () => {
  expect(first('2026-01-01T00:00:00Z', 0)).toBe(1_000);
  expect(first('2026-01-01T00:00:00Z', 0.5)).toBe(1_000 + 2.5 * MINUTE);
  expect(first(undefined, 0.5)).toBe(1_000 + 2.5 * MINUTE);
  expect(first('nonsense', 0.5)).toBe(1_000 + 2.5 * MINUTE);
});

it('one that was written by a clock that is ahead is not waited for longer than others', () => {
  expect(first('2099-01-01T00:00:00Z')).toBe(1_000 + 5 * MINUTE);
});

it('there are never less than five minutes between two', () => {
  expect(nextHeartbeat(0, () => 0)).toBe(5 * MINUTE);
  expect(nextHeartbeat(0, () => 0.999_999)).toBeLessThanOrEqual(5.5 * MINUTE);
});

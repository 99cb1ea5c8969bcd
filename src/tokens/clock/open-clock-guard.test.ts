import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../api/status.ts';
import { leaderGuards, leadsWhile, soleLeadership, TIME_KEY } from '../../storage/contract.ts';
import type { TimeReading } from '../../storage/scan.ts';
import { openSqliteStore } from '../../storage/sqlite/sqlite-store.ts';
import { type OpenClockGuardOptions, openClockGuard } from './open-clock-guard.ts';
import { TRUST_AFTER_MS } from './stored-time-check.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const HOUR = 3_600_000;

const clock = { monotonic: 0, ahead: 0 };
let tasks: { readonly ms: number; readonly task: () => void }[];
let logged: string[];

const folder = await mkdtemp(join(tmpdir(), 'clusterpass-guard-'));
const store = await openSqliteStore({ file: join(folder, 'a.db') });
beforeEach(async () => {
  const left = await store.get(TIME_KEY);
  if (left) await store.write({ key: TIME_KEY, value: null, expect: { createRevision: left.createRevision } });
  Object.assign(clock, { monotonic: 0, ahead: 0 });
  tasks = [];
  logged = [];
});
afterAll(() => store.close());

async function open(options: Partial<OpenClockGuardOptions> = {}) {
  const note = (_: object, message: string) => logged.push(message);
  tasks = [];
  const { guard } = await openClockGuard({
    store,
    time: undefined,
    // Not by default: a write may otherwise happen after the next test has begun.
    leadership: { leads: () => false },
    limitMs: 30_000,
    now: () => START + clock.monotonic + clock.ahead,
    monotonicNow: () => clock.monotonic,
    every: (ms, task) => {
      tasks.push({ ms, task });
      return () => {};
    },
    logger: { info: note, warn: note },
    ...options,
  });
  return guard;
}

const run = (everyMs: number): void => {
  for (const { ms, task } of tasks) if (ms === everyMs) task();
};
/** Time passes, and the check of every second runs. */
function pass(ms: number): void {
  for (const end = clock.monotonic + ms; clock.monotonic < end; clock.monotonic += 1_000) run(1_000);
}
const written = async (): Promise<string> => Buffer.from((await store.get(TIME_KEY))?.value ?? '').toString();
/** The store answers in order: after the second answer, a write that a task began with a read has been made. */
async function runToTheEnd(everyMs: number): Promise<void> {
  run(everyMs);
  for (let reads = 0; reads < 2; reads += 1) await written();
}
const writes = (time: string): Promise<void> => expect.poll(written).toBe(time);

function refusal(act: () => void): ApiError['status'] {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError) return error.status;
  }
  throw new Error('it was not refused');
}

describe('B13: nothing is signed while the clock is wrong', () => {
  it('the caller gets a 503 with the reason and Retry-After; the operator gets two log lines', async () => {
    const guard = await open();
    guard.requireRight();
    clock.ahead = -HOUR;
    for (let i = 0; i < 3; i += 1) {
      expect(refusal(() => guard.requireRight())).toMatchObject({
        code: 503,
        reason: 'ServiceUnavailable',
        message:
          'no tokens are issued at the moment: the clock of this server is 3600 seconds behind the time of its store',
        details: { retryAfterSeconds: 5 },
      });
    }
    expect([guard.isRight(), guard.skewSeconds]).toEqual([false, 3600]);
    // The expiry of a revocation is not too early because of it.
    expect(guard.latest()).toBe(START);
    clock.ahead = 0;
    guard.requireRight();
    expect(logged).toEqual([
      'no tokens are issued: the clock of this server is 3600 seconds behind the time of its store',
      'the clock of this server is right again: tokens are signed',
    ]);
  });

  it('nor is anything removed that has expired', async () => {
    const guard = await open();
    const fence = { key: '/internal/leader', expect: { createRevision: 7 } };
    const guarded = leadsWhile({ leads: () => true, fence: () => fence }, () => guard.isRight());
    expect([guarded.leads(), leaderGuards(guarded)]).toEqual([true, [fence]]);
    clock.ahead = -HOUR;
    expect([guarded.leads(), guarded.fence()]).toEqual([false, undefined]);
    expect(() => leaderGuards(guarded)).toThrow('no longer leads');
  });
});

describe('B13: with SQLite', () => {
  it('the leader writes the time at the start and once a minute', async () => {
    await open({ leadership: soleLeadership });
    await writes('2026-01-01T00:00:00.000Z');
    clock.monotonic += 60_000;
    run(60_000);
    await writes('2026-01-01T00:01:00.000Z');
    await open();
    clock.monotonic += 60_000;
    run(60_000);
    expect(await written()).toBe('2026-01-01T00:01:00.000Z');
  });

  it('a replica that does not lead writes no time, and one that leads later does', async () => {
    let leads = false;
    await open({ leadership: { leads: () => leads } });
    expect(await written()).toBe('');
    leads = true;
    run(60_000);
    await writes('2026-01-01T00:00:00.000Z');
  });

  it('a clock that went back while the process was stopped is detected, and right again when it is set', async () => {
    await open({ leadership: soleLeadership });
    await writes('2026-01-01T00:00:00.000Z');
    clock.ahead = -HOUR;
    const guard = await open({ leadership: soleLeadership });
    expect(guard.isRight()).toBe(false);
    run(60_000);
    clock.ahead = 0;
    expect(guard.isRight()).toBe(true);
    expect(await written()).toBe('2026-01-01T00:00:00.000Z');
  });

  it('a stored time that is a year ahead blocks for ten minutes, and is then corrected', async () => {
    clock.ahead = 365 * 24 * HOUR;
    await open({ leadership: soleLeadership });
    await writes('2027-01-01T00:00:00.000Z');
    clock.ahead = 0;
    const guard = await open({ leadership: soleLeadership });
    expect(guard.isRight()).toBe(false);
    pass(TRUST_AFTER_MS + 1_000);
    expect(guard.isRight()).toBe(true);
    run(60_000);
    await writes('2026-01-01T00:10:01.000Z');
    expect((await open()).isRight()).toBe(true);
  });

  it('a stored value that is not a time says nothing about the clock, and nothing is removed for an hour', async () => {
    await store.write({ key: TIME_KEY, value: Buffer.from('soon'), expect: { absent: true } });
    const guard = await open();
    expect(guard.isRight()).toBe(true);
    expect(guard.removalTime()).toBe(Number.NEGATIVE_INFINITY);
  });
});

describe('B13: with etcd', () => {
  /** Members by how far they are ahead. */
  const timeOf = (members: Record<string, number>, asked: number[] = []) => ({
    ask: async (monotonicNow: () => number): Promise<TimeReading[]> => {
      asked.push(monotonicNow());
      return Object.entries(members).map(([member, ahead]) => {
        const time = Math.floor((START + monotonicNow() + ahead) / 1000) * 1000;
        return { member, time, asked: monotonicNow(), answered: monotonicNow() };
      });
    },
  });

  it('of two replicas the one with the wrong clock stops, and writes nothing that could stop the other', async () => {
    const time = timeOf({ a: 0, b: 0, c: 0 });
    const right = await open({ time });
    const wrong = await open({ time, now: () => START + clock.monotonic + HOUR });
    expect([right.isRight(), wrong.isRight()]).toEqual([true, false]);
    expect(await written()).toBe('');
  });
});

describe('B31: the time by which something may be removed', () => {
  const DAY = 24 * HOUR;
  const passes = (ms: number): void => {
    clock.monotonic += ms;
  };

  it('is the time of the clock, and none within an hour of a jump, in either direction', async () => {
    const guard = await open();
    expect(guard.removalTime()).toBe(START);
    for (const ahead of [3 * DAY, -3 * DAY]) {
      clock.ahead = ahead;
      expect(guard.removalTime()).toBe(Number.NEGATIVE_INFINITY);
      passes(3_000);
      clock.ahead = 0;
      expect(guard.removalTime()).toBe(Number.NEGATIVE_INFINITY);
      passes(HOUR - 1);
      expect(guard.removalTime()).toBe(Number.NEGATIVE_INFINITY);
      passes(1);
      expect(guard.removalTime()).toBe(START + clock.monotonic);
    }
  });

  it('is none for an hour after a start at a time that the store does not expect', async () => {
    const remember = (ms: number) =>
      store.write({ key: TIME_KEY, value: Buffer.from(new Date(ms).toISOString()), expect: { absent: true } });
    await remember(START - 2 * 60_000);
    expect((await open()).removalTime()).toBe(START);
    const left = await store.get(TIME_KEY);
    await store.write({ key: TIME_KEY, value: null, expect: { createRevision: left?.createRevision ?? 0 } });
    await remember(START - 3 * DAY);
    const guard = await open();
    expect(guard.removalTime()).toBe(Number.NEGATIVE_INFINITY);
    passes(HOUR);
    expect(guard.removalTime()).toBe(START + HOUR);
  });

  it('is none within an hour of a jump, also after restarts', async () => {
    await open({ leadership: soleLeadership });
    await writes('2026-01-01T00:00:00.000Z');
    clock.ahead = 3 * DAY;
    for (let start = 1; start <= 3; start += 1) {
      const guard = await open({ leadership: soleLeadership });
      await runToTheEnd(60_000);
      expect(guard.removalTime(), `start ${start}`).toBe(Number.NEGATIVE_INFINITY);
      passes(10_000);
    }
    clock.ahead = 0;
    expect((await open()).isRight()).toBe(true);
  });

  it('is none while the members of etcd say another time, and never later than theirs', async () => {
    let behind = 10_000;
    const ask = async (monotonic: () => number): Promise<TimeReading[]> => {
      const at = monotonic();
      return [{ member: 'a', time: START + at - behind, asked: at, answered: at }];
    };
    const guard = await open({ time: { ask } });
    expect(guard.removalTime()).toBeLessThanOrEqual(START - 9_000);
    expect(guard.removalTime()).toBeGreaterThan(START - 10_001);
    behind = 3 * DAY;
    expect((await open({ time: { ask } })).removalTime()).toBe(Number.NEGATIVE_INFINITY);
    expect((await open({ time: { ask: async () => [] } })).removalTime()).toBe(Number.NEGATIVE_INFINITY);
  });
});

import { ClockJumps, type Clocks, JUMP_MS } from '../../lib/clock-jumps.ts';
import type { Logger } from '../../observability/logger.ts';
import { type KeyValue, type Leadership, type Store, TIME_KEY } from '../../storage/contract.ts';
import { asRead, type StoreTime } from '../../storage/scan.ts';
import { ClockGuard, type TimeSource } from './clock-guard.ts';
import { MemberClockCheck } from './member-clock-check.ts';
import { StoredTimeCheck } from './stored-time-check.ts';

export interface OpenClockGuardOptions extends Clocks {
  readonly store: Pick<Store, 'get' | 'write'>;
  /** Undefined for a store that reports no time. */
  readonly time: StoreTime | undefined;
  readonly leadership: Pick<Leadership, 'leads'>;
  /** 0: nothing is ever refused. */
  readonly limitMs: number;
  /** Repeats the task, until the returned function is called. */
  readonly every: (ms: number, task: () => void) => () => void;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

const READ_MS = 10_000;
/** While the clock is wrong: it may be set at any moment, or the machine may just have resumed. */
const READ_WHEN_WRONG_MS = 1_000;
const WRITE_MS = 60_000;
/** So that the end of a wrong clock is noticed and logged without a token request. */
const CHECK_MS = 1_000;

/** Resolves after the first reading of the other source of time. */
export async function openClockGuard(options: OpenClockGuardOptions) {
  const { time, every, now, logger } = options;
  const limitMs = options.limitMs === 0 ? Number.POSITIVE_INFINITY : options.limitMs;
  const source = time === undefined ? await openStoredTime(options, limitMs) : await openMemberClocks(options, time);
  const guard = new ClockGuard({ ...source, now, limitMs, logger });
  const stopChecking = every(CHECK_MS, () => void guard.removalTime());
  return {
    guard,
    close: () => {
      source.close();
      stopChecking();
    },
  };
}

interface OpenTimeSource extends TimeSource {
  close(): void;
}

async function openMemberClocks(options: OpenClockGuardOptions, time: StoreTime): Promise<OpenTimeSource> {
  const { now, monotonicNow, every, logger } = options;
  const check = new MemberClockCheck({ now, monotonicNow });
  let isReading = false;
  let lastRead = Number.NEGATIVE_INFINITY;
  const read = async (): Promise<number> => {
    if (isReading) return 0;
    isReading = true;
    lastRead = monotonicNow();
    try {
      const readings = await time.ask(monotonicNow);
      check.update(readings);
      return readings.length;
    } finally {
      isReading = false;
    }
  };
  const found = await read();
  if (found === 0) {
    logger.warn({}, 'no member of etcd reports its time over HTTP: the clock of this server is not checked');
  }
  return {
    check,
    // Without the time of a member, a jump before the start cannot be excluded.
    jumps: new ClockJumps({ now, monotonicNow, jumpedBefore: found === 0 }),
    onWrong: () => {
      if (monotonicNow() - lastRead >= READ_WHEN_WRONG_MS) void read();
    },
    close: every(READ_MS, () => void read()),
  };
}

async function openStoredTime(options: OpenClockGuardOptions, limitMs: number): Promise<OpenTimeSource> {
  const { store, leadership, now, monotonicNow, every, logger } = options;
  const found = await store.get(TIME_KEY);
  const storedTime = timeIn(found);
  // The time is written once a minute. A machine that was off for longer looks the same as a clock that was set, and so
  // does a value that is not a time. A new store has none.
  const isNear = Math.abs(now() - storedTime) <= 2 * WRITE_MS + JUMP_MS;
  const jumps = new ClockJumps({ now, monotonicNow, jumpedBefore: found !== undefined && !isNear });
  const check = new StoredTimeCheck({
    now,
    monotonicNow,
    limitMs,
    storedTime: Number.isNaN(storedTime) ? undefined : storedTime,
    onTrusted: (skewMs) =>
      logger.warn(
        { seconds: Math.round(skewMs / 1000) },
        'the clock has jumped and not changed since: it is trusted from now on',
      ),
  });
  const write = async (): Promise<void> => {
    const trusted = check.trustedTime();
    if (trusted === undefined || !leadership.leads()) return;
    const before = await store.get(TIME_KEY);
    // Within an hour of a jump no later time is written, so that the process after a restart notices the jump too.
    const isEarlier = trusted < timeIn(before);
    if (before !== undefined && !isEarlier && !jumps.isSteady()) return;
    await store.write({
      key: TIME_KEY,
      value: Buffer.from(new Date(trusted).toISOString()),
      expect: asRead(before),
    });
  };
  // Failures of the store are reported elsewhere, and the next write repeats this one.
  const tryToWrite = (): Promise<void> => write().catch(() => undefined);
  await tryToWrite();
  return { check, jumps, close: every(WRITE_MS, () => void tryToWrite()) };
}

/** Epoch milliseconds; NaN if there is no time in it. */
const timeIn = (stored: KeyValue | undefined): number =>
  Date.parse(Buffer.from(stored?.value ?? '').toString('latin1'));
